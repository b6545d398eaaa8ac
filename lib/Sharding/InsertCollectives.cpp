//===- InsertCollectives.cpp - conversions as collectives ---------------------===//
#include "stg/Sharding/InsertCollectives.h"
#include "OpWriter.h"
#include "stg/Sharding/Conversion.h"

namespace stg {

namespace {

class CollectiveInserter {
public:
  CollectiveInserter(IRContext &context, Body &body) : body_(body), writer_(context, body) {}

  void run(PassStats &stats) {
    std::vector<Op> ops;
    std::swap(ops, body_.ops);
    for (Op &op : ops) {
      ++stats.opVisits;
      if (op.kind == OpKind::Convert)
        expand(op);
      else
        writer_.push(std::move(op));
    }
  }

private:
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
      op.results = {i + 1 == steps.size() ? convert.results[0] : writer_.between(convert.results[0], step.after)};
      source = op.results[0];
      writer_.push(std::move(op));
    }
  }

  Body &body_;
  OpWriter writer_;
};

} // namespace

Outcome insertCollectives(Program &program, PassStats &stats) {
  for (Body &body : program.bodies)
    CollectiveInserter(*program.context, body).run(stats);
  program.level = Level::Explicit;
  return Outcome::Done;
}

} // namespace stg
