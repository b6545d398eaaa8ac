//===- StgText.cpp --------------------------------------------------------===//
#include "StgText.h"
#include "SourceDir.h"
#include "stg/Passes/PassManager.h"
#include "stg/Sema/Workload.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "gtest/gtest.h"

namespace stg::stdlib {
namespace {

std::string messages(const Diagnostics &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDiagnostics(diags, os, {.colours = Colours::Never});
  return text;
}

struct Session {
  SourceManager sources;
  ast::ASTContext context;
  Diagnostics diags{sources};
  ModuleLoader loader{sources, context, diags, {kSourceDir + std::string("/stdlib")}};
};

} // namespace

std::optional<Program> compileText(const std::string &text) {
  Session session;
  const Module *module = session.loader.loadBuffer(session.sources.addBuffer("test.stg", "stg 1\n" + text));
  std::optional<Program> program;
  if (module) {
    checkDeclarations(*module, session.sources, session.diags);
    std::vector<WorkloadSource> workloads = workloadsOf(*module);
    if (!session.diags.hasErrors() && !workloads.empty())
      program = resolveWorkload(workloads.front(), {}, session.sources, session.diags).program;
    if (program && runPasses(*program, {PassId::InferShapes}, session.diags) != Outcome::Done)
      program.reset();
  }
  std::string said = messages(session.diags);
  EXPECT_EQ(said, "") << text;
  EXPECT_TRUE(program) << text;
  return said.empty() ? std::move(program) : std::nullopt;
}

std::vector<std::string> modelsIn(const std::string &module) {
  Session session;
  std::string path = module;
  std::replace(path.begin(), path.end(), '.', '/');
  const Module *loaded = session.loader.load(kSourceDir + ("/stdlib/" + path) + ".stg");
  EXPECT_EQ(messages(session.diags), "");
  std::vector<std::string> names;
  if (loaded)
    for (const ast::Item *item : loaded->declared(ast::ItemKind::Model))
      names.push_back(item->name.text.str());
  return names;
}

interp::InterpResult runText(const std::string &text, const interp::InterpInputs &inputs) {
  std::optional<Program> program = compileText(text);
  return program ? interp::interpret(*program, inputs, interp::KeepValues::All) : interp::InterpResult();
}

void giveEqualWeights(const Program &program, const std::vector<std::string> &prefixes, interp::InterpInputs &inputs) {
  for (const ProgramWeight &weight : program.weights) {
    std::string name = program.text(weight.name).str();
    interp::TensorDims dims;
    for (const Dim &dim : weight.type.dims)
      dims.push_back({dim.name, dim.size.size().value_or(0)});
    for (const std::string &prefix : prefixes)
      if (llvm::StringRef(name).starts_with(prefix))
        inputs.given[name] =
            interp::madeUpTensor(weight.type.element, dims, inputs.seed, name.substr(prefix.size()), 1);
  }
}

void dropDefineBlocks(Program &program, const std::string &op) {
  for (Body &body : program.bodies)
    for (Op &one : body.ops)
      if (auto *call = std::get_if<CallFields>(&one.fields); call && program.text(call->callee) == op)
        call->define = BodyId();
}

} // namespace stg::stdlib
