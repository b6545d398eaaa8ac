//===- Repeat.cpp - repeats and units ---------------------------------------------------===//
// Each iteration of a `repeat` is a unit. Walking an iteration costs what its body costs, so it is done once per
// distinct body: while an iteration is walked, every static decision that depends on its number is remembered together
// with the expression (`if i % 8 == 4`, an argument, a `let`), and so is where each input of the body came from. A
// later iteration evaluates the remembered expressions in order; if all come out alike, the walk would make the same
// body, and the unit is that body with inputs bound anew. As the walk is a function of those decisions, the first
// difference decides.
//
// An iteration that uses its number otherwise, or has units inside, is walked every time; equal bodies are merged at
// the end all the same.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::StringRef;

namespace {

/// What the walk of an iteration left behind for others.
struct WalkedIteration {
  UnitId unit;
  std::vector<Observation> observations;
  std::vector<InputSource> inputs;
  struct Carried {
    Scope *scope;
    std::string name;
    Tensor value;
  };
  std::vector<Carried> carried;
  std::shared_ptr<const std::map<std::string, Tensor>> values;
};

const ast::Target *lastAssignment(StringRef name, const ast::Block &block) {
  const ast::Target *found = nullptr;
  for (const ast::Stmt *stmt : block.stmts) {
    if (auto *assign = llvm::dyn_cast<ast::AssignStmt>(stmt)) {
      for (const ast::Target &target : assign->targets)
        if (target.name.text == name)
          found = &target;
    } else if (auto *branch = llvm::dyn_cast<ast::IfStmt>(stmt)) {
      if (auto *inner = lastAssignment(name, branch->thenBlock))
        found = inner;
      if (branch->hasElse)
        if (auto *inner = lastAssignment(name, branch->elseBlock))
          found = inner;
    } else if (auto *unit = llvm::dyn_cast<ast::UnitStmt>(stmt)) {
      if (auto *inner = lastAssignment(name, unit->body))
        found = inner;
    } else if (auto *repeat = llvm::dyn_cast<ast::RepeatStmt>(stmt)) {
      if (auto *inner = lastAssignment(name, repeat->body))
        found = inner;
    }
  }
  return found;
}

std::string withoutIndices(StringRef path) {
  std::string text;
  bool inside = false;
  for (char c : path) {
    inside |= c == '[';
    if (!inside)
      text += c;
    inside &= c != ']';
  }
  return text;
}

} // namespace

void Elaborator::closeStretch(StringRef next) {
  anyUnit_ = true;
  bool first = !stretch_.anyInside;
  stretch_.anyInside = true;
  if (!units_.isOpen())
    return;
  std::string name = next.empty() ? "last" : first ? "first" : "before_" + next.str();
  std::string path = uniqueName(stretch_.units, stretch_.prefix + name);
  units_.close(path, withoutIndices(path), -1);
}

/// The variables of this declaration that an inner scope can rebind, as they are now.
std::vector<std::pair<Scope *, std::pair<std::string, Tensor>>> Elaborator::outerTensors(Scope &scope) {
  std::vector<std::pair<Scope *, std::pair<std::string, Tensor>>> tensors;
  for (Scope *at = &scope; at; at = at->parent)
    for (auto &[name, variable] : at->values)
      if (auto *tensor = std::get_if<Tensor>(&variable))
        tensors.push_back({at, {name.str(), *tensor}});
  return tensors;
}

static bool sameTensor(const Tensor &a, const Tensor &b) {
  return a.unknown == b.unknown && a.unit == b.unit && a.value == b.value && a.input == b.input;
}

/// Same dims (by name and size) and element type, in whatever order.
static bool sameTypeUpToOrder(const TensorType &a, const TensorType &b) {
  return a.element == b.element && a.dims.size() == b.dims.size() && llvm::all_of(a.dims, [&](const Dim &dim) {
           const Dim *other = b.find(dim.name);
           return other && sameSize(dim.size, other->size) != false;
         });
}

void Elaborator::checkCarried(const ast::Block &body, StringRef unit, Scope *scope, const std::string &name,
                              const Tensor &before, Tensor &after) {
  if (before.unknown || after.unknown)
    return;
  if (!sameTypeUpToOrder(before.type, after.type)) {
    const ast::Target *target = lastAssignment(name, body);
    auto shown = [&](const TensorType &type, const TensorType &other) {
      std::string text = describe(type, scope);
      if (describe(other, scope) == text) { // the sizes or the element types tell
        text = toString(type, *program_.context);
      }
      return text;
    };
    std::string enters = shown(before.type, after.type), leaves = shown(after.type, before.type);
    auto builder =
        diags_.report(target ? target->name.range : body.range, diag::CarriedTypeChange{.value = name, .unit = unit});
    builder.label("enters as " + enters + ", leaves as " + leaves + "; the next iteration needs " + enters);
    if (before.type.element != after.type.element)
      builder.note(name + " enters as " + spelling(before.type.element).str() + " and leaves as " +
                   spelling(after.type.element).str());
    withInstances(builder, scope->frame);
    after = Tensor::makeUnknown();
    return;
  }
  if (before.type.dims == after.type.dims || abstract_)
    return;
  Context context;
  context.scope = scope;
  context.name = name;
  llvm::SmallVector<NameId, 6> order;
  for (const Dim &dim : before.type.dims)
    order.push_back(dim.name);
  after = reorder(after, order, context, body.range);
}

void Elaborator::repeatStatement(const ast::RepeatStmt *stmt, Scope &scope) {
  StringRef name = stmt->name.text;
  auto handle = std::make_shared<RepeatIterations>();
  handle->name = name.str();
  if (auto known = scope.values.find(name); known != scope.values.end()) {
    diags_.report(stmt->name.range, diag::NameTwice{.name = name});
    return;
  }
  Context context;
  context.scope = &scope;
  EvalResult count = decide(stmt->count, context);
  DimExpr size = count.isStatic() ? count.value.asSize(program_.context->dims) : DimExpr();
  if (!size && count.isStatic() && !count.value.isUnknown())
    diags_.report(stmt->count->range, diag::NotUsableHere{.expression = sourceText(stmt->count->range),
                                                          .actual = count.value.kindName(),
                                                          .expected = "a number of iterations"});
  scope.values[name] = handle;
  if (abstract_ || !size) {
    Scope *inner = newScope(&scope, scope.frame);
    inner->isUnit = true;
    if (!stmt->index.empty()) {
      inner->values[stmt->index.text] = StaticValue{program_.context->dims.symbol(stmt->index.text, std::nullopt)};
    }
    registerLets(stmt->body, *inner);
    auto before = outerTensors(scope);
    block(stmt->body, *inner);
    for (auto &[at, entry] : before) {
      auto *now = std::get_if<Tensor>(&at->values[StringRef(entry.first)]);
      if (now && !sameTensor(*now, entry.second))
        checkCarried(stmt->body, name, at, entry.first, entry.second, *now);
    }
    auto values = std::make_shared<std::map<std::string, Tensor>>();
    handle->iterations.push_back({UnitId(), values});
    return;
  }
  auto number = size.integer();
  // Repeats in repeats multiply: what counts is the program's units.
  int64_t limit = std::max<int64_t>(0, settings_.maxUnits - static_cast<int64_t>(units_.numUnits()));
  if (!number || *number < 0 || *number > limit) {
    auto builder = diags_.report(
        stmt->count->range,
        diag::RepeatCount{.unit = name, .count = number ? toString(*number) : size.str(), .limit = limit});
    if (limit < settings_.maxUnits)
      builder.note("a program has " + std::to_string(settings_.maxUnits) + " units at most, and this one has " +
                   std::to_string(settings_.maxUnits - limit) + " already");
    withInstances(builder, scope.frame);
    // What the iterations would have made is unknown from here on.
    for (auto &[at, entry] : outerTensors(scope))
      if (lastAssignment(entry.first, stmt->body))
        at->values[internedName(entry.first)] = Tensor::makeUnknown();
    return;
  }

  bool nested = unitDepth_ > 0;
  if (nested)
    reusable_ = false;
  closeStretch(name);
  std::string path = uniqueName(stretch_.units, unitPathHere(name, scope));
  bool reuse = !nested && llvm::none_of(settings_.overrides, [](const Override &o) { return o.pattern.hasIndex(); });
  std::vector<WalkedIteration> walked;
  size_t errors = diags_.numErrors();
  for (int64_t k = 0; k < static_cast<int64_t>(*number); ++k) {
    auto iterationScope = [&] {
      Scope *inner = newScope(&scope, scope.frame);
      inner->isUnit = true;
      if (!stmt->index.empty()) {
        inner->values[stmt->index.text] = StaticValue{program_.context->dims.constant(k)};
        inner->perIteration.insert(stmt->index.text);
      }
      registerLets(stmt->body, *inner);
      return inner;
    };
    bool done = false;
    if (!walked.empty()) {
      size_t numScopes = scopes_.size();
      Scope *inner = iterationScope();
      for (WalkedIteration &model : walked)
        if (decidesAlike(model.observations, *inner)) {
          std::vector<ValueOrigin> inputs;
          if (!bindInputs(model.inputs, model.unit, *inner, inputs))
            continue;
          UnitId unit = units_.repeat(model.unit, path, k, std::move(inputs));
          for (auto &carried : model.carried) {
            Tensor tensor = carried.value;
            tensor.unit = unit;
            carried.scope->values[internedName(carried.name)] = tensor;
          }
          handle->iterations.push_back({unit, model.values});
          done = true;
          break;
        }
      scopes_.resize(numScopes);
    }
    if (done)
      continue;

    Scope *inner = iterationScope();
    auto before = outerTensors(scope);
    Recording saved = startRecording(nested ? nullptr : inner);
    Stretch outer = enterUnit(path, k, scope);
    block(stmt->body, *inner);
    ensureOpen();
    WalkedIteration result;
    auto values = std::make_shared<std::map<std::string, Tensor>>();
    for (auto &[at, entry] : before) {
      auto *now = std::get_if<Tensor>(&at->values[StringRef(entry.first)]);
      if (!now || sameTensor(*now, entry.second))
        continue;
      checkCarried(stmt->body, name, at, entry.first, entry.second, *now);
      result.carried.push_back({at, entry.first, *now});
      values->insert({entry.first, *now});
    }
    for (auto &[known, variable] : inner->values)
      if (auto *tensor = std::get_if<Tensor>(&variable))
        values->insert({known.str(), *tensor});
    result.unit = units_.current();
    result.observations = std::move(observations_);
    result.inputs = std::move(inputSources_);
    result.values = values;
    bool keep = leaveUnit(std::move(outer), path, k);
    bool canReuse = reuse && keep && reusable_ && !touchedIndex_;
    for (auto &carried : result.carried)
      canReuse &= !carried.value.unknown && carried.value.unit == result.unit;
    stopRecording(std::move(saved));
    handle->iterations.push_back({canReuse ? result.unit : UnitId(), values});
    // Many distinct iterations are walked each: comparing every one with all others would cost their square.
    constexpr size_t kMaxModels = 64;
    if (canReuse && walked.size() < kMaxModels)
      walked.push_back(std::move(result));
    // One faulty iteration is enough: the others would say the same.
    if (diags_.numErrors() != errors) {
      handle->failed = true;
      break;
    }
  }
}

StringRef Elaborator::internedName(const std::string &name) {
  return program_.context->text(program_.context->name(name));
}

bool Elaborator::decidesAlike(llvm::ArrayRef<Observation> observations, Scope &scope) {
  Context context;
  context.scope = &scope;
  Scope *recording = iteration_;
  iteration_ = nullptr;
  bool alike = true;
  for (const Observation &observation : observations) {
    EvalResult result = eval(observation.expr, context);
    if (!result.isStatic() || !result.value.sameAs(observation.value)) {
      alike = false;
      break;
    }
    if (observation.let.empty())
      continue;
    scope.values.erase(observation.let);
    if (llvm::isUpper(observation.let.front())) {
      NameId id = program_.context->name(observation.let);
      scope.dims[observation.let] = {id, {{id, result.value.asSize(program_.context->dims)}}};
    } else {
      scope.values[observation.let] = result.value;
    }
  }
  iteration_ = recording;
  touchedIndex_ = false;
  return alike;
}

/// The inputs of a body for another iteration. False if one has another type now: the body does not fit.
bool Elaborator::bindInputs(llvm::ArrayRef<InputSource> sources, UnitId model, Scope &scope,
                            std::vector<ValueOrigin> &inputs) {
  const Body &body = units_.bodyOf(model);
  for (size_t i = 0; i < sources.size(); ++i) {
    Tensor tensor;
    if (sources[i].handle) {
      auto *path = llvm::cast<ast::PathExpr>(sources[i].handle->base);
      Variable *variable = findVariable(&scope, path->parts[0].text);
      auto &repeat = std::get<std::shared_ptr<RepeatIterations>>(*variable);
      Context context;
      context.scope = &scope;
      EvalResult index = eval(sources[i].handle->index, context);
      DimExpr size = index.isStatic() ? index.value.asSize(program_.context->dims) : DimExpr();
      auto number = size ? size.integer() : std::nullopt;
      if (!number || *number < 0 || *number >= static_cast<Int128>(repeat->iterations.size()))
        return false; // the walk will say what is wrong
      const auto &iteration = repeat->iterations[static_cast<size_t>(*number)];
      auto value = iteration.values->find(sources[i].handle->members[0].text.str());
      if (value == iteration.values->end())
        return false;
      tensor = value->second;
      if (iteration.unit.valid())
        tensor.unit = iteration.unit;
    } else {
      auto it = sources[i].scope->values.find(internedName(sources[i].name));
      auto *known = it == sources[i].scope->values.end() ? nullptr : std::get_if<Tensor>(&it->second);
      if (!known || known->unknown)
        return false;
      tensor = *known;
    }
    if (!(tensor.type == body.inputs[i].type))
      return false;
    inputs.push_back(ValueOrigin::of(tensor));
  }
  touchedIndex_ = false;
  return true;
}

Elaborator::Recording Elaborator::startRecording(Scope *iteration) {
  Recording saved{iteration_, reusable_, touchedIndex_, std::move(observations_), std::move(inputSources_)};
  iteration_ = iteration;
  reusable_ = true;
  touchedIndex_ = false;
  observations_.clear();
  inputSources_.clear();
  return saved;
}

void Elaborator::stopRecording(Recording saved) {
  iteration_ = saved.iteration;
  reusable_ = saved.reusable;
  touchedIndex_ = saved.touched;
  observations_ = std::move(saved.observations);
  inputSources_ = std::move(saved.inputs);
}

std::string Elaborator::unitPathHere(StringRef name, const Scope &scope) const {
  StringRef frame = scope.frame->path;
  return stretch_.prefix + frame.drop_front(std::min(unitBase_.size(), frame.size())).str() + name.str();
}

Elaborator::Stretch Elaborator::enterUnit(const std::string &path, int64_t index, Scope &scope) {
  Stretch outer = std::move(stretch_);
  outer.unitBase = unitBase_;
  outer.iterationPath = iterationPath_;
  std::string indexed = index < 0 ? path : path + "[" + std::to_string(index) + "]";
  stretch_ = Stretch();
  stretch_.prefix = indexed + ".";
  unitBase_ = scope.frame->path;
  iterationPath_ = indexed + ".";
  ++unitDepth_;
  units_.open(path, index);
  return outer;
}

bool Elaborator::leaveUnit(Stretch outer, const std::string &path, int64_t index) {
  bool keep = false;
  if (units_.isOpen()) {
    std::string name = stretch_.anyInside ? stretch_.prefix + "last" : path;
    keep = units_.close(name, withoutIndices(name), stretch_.anyInside ? -1 : index);
  }
  --unitDepth_;
  unitBase_ = outer.unitBase;
  iterationPath_ = outer.iterationPath;
  stretch_ = std::move(outer);
  return keep;
}

void Elaborator::unitStatement(const ast::UnitStmt *stmt, Scope &scope) {
  Scope *inner = newScope(&scope, scope.frame);
  inner->isUnit = true;
  registerLets(stmt->body, *inner);
  if (abstract_)
    return block(stmt->body, *inner);
  if (unitDepth_ > 0)
    reusable_ = false;
  closeStretch(stmt->name.text);
  std::string path = uniqueName(stretch_.units, unitPathHere(stmt->name.text, scope));
  Recording saved = startRecording(nullptr);
  Stretch outer = enterUnit(path, -1, scope);
  block(stmt->body, *inner);
  leaveUnit(std::move(outer), path, -1);
  stopRecording(std::move(saved));
}
