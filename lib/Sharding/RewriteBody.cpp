//===- RewriteBody.cpp - a body as its plan of layouts says -------------------===//
// Ops come in their old order. What completes a value stands behind its producer, every other conversion before its
// first user; at the end ops are brought back into the order of their phases.
//===----------------------------------------------------------------------===//
#include "RewriteBody.h"
#include "SumChains.h"
#include "stg/Sharding/Conversion.h"
#include "llvm/ADT/StringSet.h"
#include <set>

namespace stg {

namespace {

class Rewriter {
public:
  Rewriter(const Program &program, const Body &body, const BodyPlan &plan)
      : program_(program), context_(*program.context), from_(body), plan_(plan), made_(plan.forms.size()),
        atBirth_(body.values.size()), sumNames_(body.values.size()) {
    for (uint32_t i = 0; i < plan.forms.size(); ++i)
      if (plan.forms[i].atBirth)
        atBirth_[plan.forms[i].value.index].push_back(FormId(i));
    for (const Value &value : body.values)
      if (value.name)
        names_.insert(program.text(value.name));
    for (uint32_t i = 0; i < plan.ops.size(); ++i)
      if (OpId sum = plan.ops[i].sum)
        for (ValueId summand : body.ops[i].operands)
          sumNames_[summand.index] = body.value(body.op(sum).results[0]).name;
  }

  RewrittenBody run() {
    to_.name = from_.name;
    to_.inputs = from_.inputs;
    to_.weights = from_.weights;
    to_.states = from_.states;
    setSlotLayouts();
    for (uint32_t i = 0; i < from_.ops.size(); ++i)
      rewriteOp(OpId(i));
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      to_.outputs.push_back(from_.outputs[i]);
      to_.outputs[i].value = valueOf(plan_.outputs[i]);
    }
    for (FormId loss : plan_.losses)
      to_.losses.push_back(valueOf(loss));
    orderByPhase();
    return {std::move(to_), std::move(addedInputs_)};
  }

private:
  void setSlotLayouts() {
    for (size_t i = 0; i < to_.inputs.size(); ++i)
      to_.inputs[i].layout = plan_.inputs[i];
    for (size_t i = 0; i < to_.weights.size(); ++i) {
      to_.weights[i].layout = plan_.weights[i].layout;
      to_.weights[i].buffer = plan_.buffers[i];
    }
    for (size_t i = 0; i < to_.states.size(); ++i)
      to_.states[i].layout = plan_.states[i].layout;
  }

  void rewriteOp(OpId id) {
    const Op &op = from_.op(id);
    const OpPlan &plan = plan_.ops[id.index];
    if (plan.dropped)
      return;
    auto rebuilt = llvm::find_if(plan_.rebuilt, [&](const auto &each) { return each.first == id; });
    if (op.kind == OpKind::Input && !plan_.inputs[op.get<SlotFields>().slot]) {
      supplyInputs(op);
    } else if (rebuilt != plan_.rebuilt.end()) {
      rebuild(op, rebuilt->second);
    } else {
      Op copy = op;
      for (size_t i = 0; i < op.operands.size(); ++i)
        copy.operands[i] = valueOf(plan.operands[i]);
      copy.compute = plan.compute;
      copy.results.clear();
      std::vector<ValueId> results = emit(std::move(copy), op.results);
      for (size_t i = 0; i < results.size(); ++i)
        setProduced(op.results[i], results[i]);
    }
    for (ValueId result : op.results)
      for (FormId form : atBirth_[result.index])
        valueOf(form);
  }

  void setProduced(ValueId old, ValueId value) {
    FormId form = plan_.produced[old.index];
    made_[form.index] = value;
    to_.values[value.index].layout = plan_.form(form).at.layout;
  }

  /// A program input: a slot and an op for each layout in which it is needed.
  void supplyInputs(const Op &op) {
    uint32_t slot = op.get<SlotFields>().slot;
    for (uint32_t i = 0; i < plan_.forms.size(); ++i) {
      const Form &form = plan_.forms[i];
      if (form.origin != Form::Origin::Supplied || form.value != op.results[0])
        continue;
      uint32_t target = slot;
      if (to_.inputs[slot].layout) {
        target = static_cast<uint32_t>(to_.inputs.size());
        InputSlot added = to_.inputs[slot];
        added.name = freshSlotName(added.name);
        to_.inputs.push_back(std::move(added));
        addedInputs_.push_back(slot);
      }
      to_.inputs[target].layout = form.at.layout;
      Op copy = op;
      copy.results.clear();
      copy.fields = SlotFields{target};
      made_[i] = emitOne(std::move(copy), op.results[0], form.at.layout, target == slot);
    }
  }

  NameId freshSlotName(NameId name) {
    for (unsigned n = 2;; ++n) {
      NameId fresh = context_.name(program_.text(name).str() + "'" + std::to_string(n));
      if (llvm::none_of(to_.inputs, [&](const InputSlot &slot) { return slot.name == fresh; }))
        return fresh;
    }
  }

  //===--------------------------------------------------------------------===//
  // Forms
  //===--------------------------------------------------------------------===//

  ValueId valueOf(FormId id) {
    if (made_[id.index])
      return made_[id.index];
    const Form &form = plan_.form(id);
    if (form.origin == Form::Origin::Supplied)
      made_[id.index] = supplyByOp(form);
    else
      made_[id.index] = convert(valueOf(form.source), plan_.form(form.source).at, form.at, form.value, form.part,
                                from_.op(form.user));
    return made_[id.index];
  }

  ValueId supplyByOp(const Form &form) {
    Op copy = from_.op(from_.value(form.value).def);
    for (size_t i = 0; i < copy.operands.size(); ++i)
      copy.operands[i] = valueOf(form.operands[i]);
    copy.results.clear();
    copy.compute = form.compute;
    copy.part = form.part;
    bool isFirst = supplied_.insert(form.value.index).second;
    return emitOne(std::move(copy), form.value, form.at.layout, isFirst);
  }

  /// One `convert` for each move, so that each has its own cause.
  ValueId convert(ValueId source, const RuledLayout &from, const RuledLayout &to, ValueId original, Part part,
                  const Op &cause) {
    for (const ConversionStep &step : planConversion(from.layout, to.layout)) {
      nameAfterSum(source, original);
      Op op;
      op.kind = OpKind::Convert;
      op.part = part;
      op.kernel = cause.kernel;
      op.scope = cause.scope;
      op.where = cause.where;
      op.operands = {source};
      op.fields = ConvertFields{step.after, {from.rules[step.atoms[0]], to.rules[step.atoms[0]]}};
      // A pool of a sum may have fewer dims than the sum, or another order of them.
      auto dims = to_.values[source.index].type->dims;
      source = emitOne(std::move(op), original, step.after, false);
      to_.values[source.index].type->dims = std::move(dims);
      nameAfterSum(source, original);
    }
    return source;
  }

  /// Summands mostly have no name of their own: what is communicated of them is called after their sum.
  void nameAfterSum(ValueId made, ValueId original) {
    Value &value = to_.values[made.index];
    if (!value.name && sumNames_[original.index])
      value.name = freshName(sumNames_[original.index]);
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  void rebuild(const Op &root, const RebuiltSum &sum) {
    ValueId original = root.results[0];
    llvm::SmallVector<ValueId, 4> plus, minus;
    for (const SumPool &pool : sum.pools) {
      llvm::SmallVector<ValueId, 4> poolPlus, poolMinus;
      for (uint32_t member : pool.members)
        (sum.summands[member].negative ? poolMinus : poolPlus).push_back(scaled(sum.summands[member], root));
      bool negative = poolPlus.empty();
      if (negative)
        std::swap(poolPlus, poolMinus);
      ValueId added = addUp(poolPlus, poolMinus, root, original, false);
      RuledLayout from{pool.layout, AtomRules(pool.layout.places.size(), -1)};
      const Form &first = plan_.form(sum.summands[pool.members[0]].form);
      from.rules = first.at.rules;
      ValueId converted = convert(added, from, pool.target, original, root.part, root);
      (negative ? minus : plus).push_back(converted);
    }
    for (uint32_t index : sum.rest)
      (sum.summands[index].negative ? minus : plus).push_back(scaled(sum.summands[index], root));
    ValueId result = addUp(plus, minus, root, original, true);
    setProduced(original, result);
  }

  /// The summand times its constant factors.
  ValueId scaled(const Summand &summand, const Op &root) {
    ValueId value = valueOf(summand.form);
    for (OpId factor : summand.factors) {
      Op op = from_.op(factor);
      op.kernel = root.kernel;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        bool isConstant = from_.op(from_.value(op.operands[i]).def).kind == OpKind::Constant;
        op.operands[i] = isConstant ? valueOf(plan_.ops[factor.index].operands[i]) : value;
      }
      value = emitSum(std::move(op), from_.op(factor).results[0], false);
    }
    return value;
  }

  ValueId addUp(llvm::ArrayRef<ValueId> plus, llvm::ArrayRef<ValueId> minus, const Op &root, ValueId original,
                bool isLast) {
    auto combine = [&](MapFn fn, llvm::ArrayRef<ValueId> values, bool last) {
      Op op = root;
      op.operands.assign(values.begin(), values.end());
      op.fields = MapFields{fn, from_.value(original).type->element};
      return emitSum(std::move(op), original, last);
    };
    auto total = [&](llvm::ArrayRef<ValueId> values, bool last) {
      return values.size() == 1 ? values[0] : combine(MapFn::Add, values, last);
    };
    if (minus.empty()) {
      ValueId sum = total(plus, isLast);
      return isLast && plus.size() == 1 ? renamed(sum, original) : sum;
    }
    if (plus.empty())
      return combine(MapFn::Neg, total(minus, false), isLast);
    ValueId first = total(plus, false);
    return combine(MapFn::Sub, {first, total(minus, false)}, isLast);
  }

  /// An addition whose layout is that of its operands, each on its dims.
  ValueId emitSum(Op op, ValueId original, bool isLast) {
    op.results.clear();
    Value value = from_.value(original);
    const Value *widest = &to_.values[op.operands[0].index];
    Layout layout = *widest->layout;
    for (ValueId operand : op.operands) {
      const Value &each = to_.values[operand.index];
      if (each.type->dims.size() > widest->type->dims.size())
        widest = &each;
      for (size_t atom = 0; atom < layout.places.size(); ++atom)
        if (layout.places[atom].isWhole())
          layout.places[atom] = each.layout->places[atom];
    }
    bool keepsOrder = isLast && widest->type->dims == value.type->dims;
    value.type->dims = widest->type->dims;
    value.layout = layout;
    ValueId result = addValue(std::move(value), keepsOrder);
    op.results = {result};
    push(std::move(op));
    computeOnResult();
    return isLast && !keepsOrder ? reordered(result, original) : result;
  }

  /// The last op's compute layout, where that follows from its result.
  void computeOnResult() {
    Op &made = to_.ops.back();
    const Layout &layout = *to_.values[made.results[0].index].layout;
    std::vector<OpFactor> factors = factorsOf(made, to_);
    made.compute.assign(factors.empty() ? 0 : layout.places.size(), -1);
    for (size_t atom = 0; atom < made.compute.size(); ++atom)
      for (size_t factor = 0; factor < factors.size(); ++factor)
        if (layout.places[atom] == Place::split(factors[factor].resultDims[0]))
          made.compute[atom] = static_cast<int16_t>(factor);
  }

  /// The last conversion is the sum itself.
  ValueId renamed(ValueId value, ValueId original) {
    if (to_.values[value.index].type->dims != from_.value(original).type->dims)
      return reordered(value, original);
    to_.values[value.index].name = from_.value(original).name;
    return value;
  }

  /// A sum whose summands came in another order of dims than the original has.
  ValueId reordered(ValueId sum, ValueId original) {
    const Op &maker = to_.ops[to_.values[sum.index].def.index];
    ViewFields fields;
    for (const Dim &dim : from_.value(original).type->dims)
      fields.order.push_back(dim.name);
    Op op;
    op.kind = OpKind::View;
    op.part = maker.part;
    op.kernel = maker.kernel;
    op.scope = maker.scope;
    op.where = maker.where;
    op.operands = {sum};
    op.fields = std::move(fields);
    Layout layout = *to_.values[sum.index].layout;
    ValueId result = emitOne(std::move(op), original, layout, true);
    computeOnResult();
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Making ops
  //===--------------------------------------------------------------------===//

  ValueId addValue(Value value, bool keepsName) {
    if (!keepsName && value.name)
      value.name = freshName(value.name);
    to_.values.push_back(std::move(value));
    return ValueId(static_cast<uint32_t>(to_.values.size() - 1));
  }

  NameId freshName(NameId name) {
    for (unsigned n = 2;; ++n) {
      std::string text = program_.text(name).str() + "'" + std::to_string(n);
      if (names_.insert(text).second)
        return context_.name(text);
    }
  }

  void push(Op op) {
    OpId id(static_cast<uint32_t>(to_.ops.size()));
    for (uint32_t i = 0; i < op.results.size(); ++i) {
      to_.values[op.results[i].index].def = id;
      to_.values[op.results[i].index].result = i;
    }
    to_.ops.push_back(std::move(op));
  }

  std::vector<ValueId> emit(Op op, llvm::ArrayRef<ValueId> originals) {
    std::vector<ValueId> results;
    for (ValueId original : originals)
      results.push_back(addValue(from_.value(original), true));
    op.results.assign(results.begin(), results.end());
    push(std::move(op));
    return results;
  }

  ValueId emitOne(Op op, ValueId original, const Layout &layout, bool keepsName) {
    Value value = from_.value(original);
    value.layout = layout;
    // A conversion has the scope of its cause, its value that of the tensor.
    if (!value.scope)
      value.scope = from_.op(value.def).scope;
    ValueId result = addValue(std::move(value), keepsName);
    op.results = {result};
    push(std::move(op));
    return result;
  }

  void orderByPhase() {
    std::vector<uint32_t> order(to_.ops.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::stable_sort(order,
                      [&](uint32_t a, uint32_t b) { return phaseOf(to_.ops[a].part) < phaseOf(to_.ops[b].part); });
    std::vector<Op> sorted;
    for (uint32_t i : order) {
      for (ValueId result : to_.ops[i].results)
        to_.values[result.index].def = OpId(static_cast<uint32_t>(sorted.size()));
      sorted.push_back(std::move(to_.ops[i]));
    }
    to_.ops = std::move(sorted);
  }

  const Program &program_;
  IRContext &context_;
  const Body &from_;
  const BodyPlan &plan_;
  Body to_;
  std::vector<uint32_t> addedInputs_;
  std::vector<ValueId> made_;                // per form
  std::vector<std::vector<FormId>> atBirth_; // per value
  std::vector<NameId> sumNames_;             // per value: what the sum is called that it is added to
  llvm::StringSet<> names_;
  std::set<uint32_t> supplied_;
};

} // namespace

RewrittenBody rewriteBody(const Program &program, const Body &body, const BodyPlan &plan) {
  return Rewriter(program, body, plan).run();
}

} // namespace stg
