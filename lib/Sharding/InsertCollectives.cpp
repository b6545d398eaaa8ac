//===- InsertCollectives.cpp - conversions as collectives ---------------------===//
#include "stg/Sharding/InsertCollectives.h"
#include "stg/Sharding/Conversion.h"
#include "llvm/ADT/StringSet.h"

namespace stg {

namespace {

class CollectiveInserter {
public:
  CollectiveInserter(IRContext &context, Body &body) : context_(context), body_(body) {
    for (const Value &value : body.values)
      if (value.name)
        names_.insert(context.text(value.name));
  }

  void run(PassStats &stats) {
    std::vector<Op> ops;
    std::swap(ops, body_.ops);
    for (Op &op : ops) {
      ++stats.opVisits;
      if (op.kind == OpKind::Convert)
        expand(op);
      else
        push(std::move(op));
    }
  }

private:
  void push(Op op) {
    OpId id(static_cast<uint32_t>(body_.ops.size()));
    for (ValueId result : op.results)
      body_.values[result.index].def = id;
    body_.ops.push_back(std::move(op));
  }

  /// The last step gives the conversion's own value.
  void expand(const Op &convert) {
    const auto &fields = convert.get<ConvertFields>();
    ValueId source = convert.operands[0];
    auto steps = planConversion(*body_.value(source).layout, fields.to);
    for (size_t i = 0; i < steps.size(); ++i) {
      const ConversionStep &step = steps[i];
      Op op = convert;
      op.kind = step.kind;
      op.fields = CollectiveFields{step.atoms, step.from, step.to, step.fn, fields.cause};
      op.operands = {source};
      op.results = {i + 1 == steps.size() ? convert.results[0] : between(convert.results[0], step.after)};
      source = op.results[0];
      push(std::move(op));
    }
  }

  ValueId between(ValueId last, const Layout &layout) {
    Value value = body_.value(last);
    value.layout = layout;
    for (unsigned n = 2; value.name; ++n) {
      std::string text = context_.text(value.name).str() + "'" + std::to_string(n);
      if (!names_.insert(text).second)
        continue;
      value.name = context_.name(text);
      break;
    }
    body_.values.push_back(std::move(value));
    return ValueId(static_cast<uint32_t>(body_.values.size() - 1));
  }

  IRContext &context_;
  Body &body_;
  llvm::StringSet<> names_;
};

} // namespace

Outcome insertCollectives(Program &program, PassStats &stats) {
  for (Body &body : program.bodies)
    CollectiveInserter(*program.context, body).run(stats);
  program.level = Level::Explicit;
  return Outcome::Done;
}

} // namespace stg
