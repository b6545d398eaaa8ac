//===- RunOpt.cpp - what stg-opt does ----------------------------------------===//
#include "RunOpt.h"
#include "stg/Analysis/Kernels.h"
#include "stg/IR/Printer.h"
#include "stg/IR/Reader.h"
#include "stg/Interp/InterpReport.h"
#include "stg/Support/CroppedText.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

namespace stg {
namespace {

void listPasses(llvm::raw_ostream &out) {
  for (const PassInfo &info : kPasses)
    out << llvm::left_justify(info.name, 19) << llvm::left_justify(spelling(info.needs), 15) << "-> "
        << llvm::left_justify(spelling(info.gives), 15) << info.summary << "\n";
}

/// The file of the input; nothing if it cannot be read, which has been reported.
std::optional<FileId> load(const std::string &input, SourceManager &sources, Diagnostics &diags) {
  if (input != "-") {
    LoadResult loaded = sources.addFile(input);
    if (loaded.status == LoadStatus::Loaded)
      return loaded.file;
    reportLoadFailure(loaded, input, {}, diags);
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  LoadResult failed;
  if (!buffer) {
    failed.status = LoadStatus::Unreadable;
    failed.reason = buffer.getError().message();
  } else if (std::optional<size_t> bad = firstInvalidUtf8((*buffer)->getBuffer())) {
    failed.status = LoadStatus::NotUtf8;
    failed.badByte = *bad;
  } else {
    return sources.addBuffer("<stdin>", (*buffer)->getBuffer().str());
  }
  reportLoadFailure(failed, "<stdin>", {}, diags);
  return std::nullopt;
}

void printKernels(const Program &program, llvm::raw_ostream &out) {
  for (const Body &body : program.bodies) {
    BodyKernels grouped = groupKernels(body, program);
    auto list = [&](llvm::ArrayRef<ValueId> values) {
      std::string text;
      for (ValueId value : values) {
        NameId name = body.value(value).name;
        text +=
            (text.empty() ? "" : " ") + (name.valid() ? program.text(name).str() : "#" + std::to_string(value.index));
      }
      return text.empty() ? "-" : text;
    };
    out << "body " << program.text(body.name) << ": " << grouped.kernels.size() << " kernels\n";
    for (size_t i = 0; i < grouped.kernels.size(); ++i) {
      const Kernel &kernel = grouped.kernels[i];
      out << "  " << i << " (kernel " << kernel.statement << ", " << kernel.ops.size() << " ops)  reads "
          << list(kernel.reads) << "  writes " << list(kernel.writes) << "  contraction "
          << kernel.flops.contraction.str() << "  other " << kernel.flops.other.str() << "  bytes "
          << kernel.bytes.str() << "\n";
    }
  }
}

/// What is wrong with a program that someone wrote is that someone's fault.
bool reportViolations(const Program &program, Diagnostics &diags) {
  std::vector<Violation> violations = verifyProgram(program);
  for (const Violation &violation : violations)
    diags.report(violation.where,
                 diag::IRInvalid{.text = croppedText(violation.op) + " " + croppedText(violation.text)});
  return !violations.empty();
}

void printRuns(const OptOptions &options, llvm::ArrayRef<PassRun> runs) {
  for (const PassRun &run : runs) {
    if (options.printOpVisits)
      llvm::errs() << passInfo(run.pass).name << ": " << run.stats.opVisits << " op visits\n";
    if (options.printTimes)
      llvm::errs() << passInfo(run.pass).name << ": "
                   << llvm::format("%.3f ms\n", std::chrono::duration<double, std::milli>(run.time).count());
  }
}

} // namespace

ExitStatus runOpt(const OptOptions &options, SourceManager &sources, llvm::raw_ostream &out, Diagnostics &diags) {
  if (options.command == OptCommand::ListPasses) {
    listPasses(out);
    return ExitStatus::Done;
  }
  std::optional<FileId> file = load(options.input, sources, diags);
  std::optional<Program> program = file ? readProgram(*file, diags) : std::nullopt;
  if (!program || reportViolations(*program, diags))
    return diags.exitStatus();
  std::optional<Program> original;
  if (options.command == OptCommand::CompareRanks)
    original = *program;
  std::vector<PassRun> runs;
  Outcome outcome = runPasses(*program, options.passes, diags, &runs);
  printRuns(options, runs);
  if (outcome == Outcome::Failed)
    return diags.exitStatus();
  if (options.command == OptCommand::Kernels) {
    if (program->level < Level::Typed) {
      diags.report(diag::PassNeedsLevel{.pass = "--kernels", .needs = "level typed", .level = spelling(program->level)})
          .help("--passes=infer-shapes");
      return diags.exitStatus();
    }
    printKernels(*program, out);
  } else if (options.command == OptCommand::Interpret) {
    interp::interpretAndPrint(*program, options.seed, diags, out);
    return diags.exitStatus();
  } else if (options.command == OptCommand::CompareRanks) {
    interp::compareRanksAndPrint(*original, *program, options.seed, diags, out);
    return diags.exitStatus();
  } else if (options.command == OptCommand::Run) {
    print(*program, out);
  }
  return ExitStatus::Done;
}

} // namespace stg
