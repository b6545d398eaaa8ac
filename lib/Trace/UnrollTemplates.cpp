//===- UnrollTemplates.cpp - what the units of one body have in common ------===//

#include "UnrollTemplates.h"
#include "fmt/format.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Support/InternalError.h"

namespace stg {
namespace {

/// Readers hold counts in signed 64-bit fields.
constexpr Int128 kLargestCount = INT64_MAX;

class TemplateMaker {
public:
  TemplateMaker(const Program &program, const Body &body, UnrollDetail detail, PassStats &stats, Diagnostics &diags)
      : program_(program), body_(body), detail_(detail), stats_(stats), diags_(diags) {}

  std::optional<BodyTemplate> run() {
    kernels_ = groupKernels(body_, *program_.context);
    stats_.opVisits += body_.ops.size();
    BodyTemplate result;
    result.kernels.reserve(kernels_.kernels.size());
    for (const Kernel &kernel : kernels_.kernels)
      fill(kernel, result.kernels.emplace_back());
    for (const BodyOutput &output : body_.outputs)
      result.outputs.push_back(tensor(output.value));
    if (failed_)
      return std::nullopt;
    return result;
  }

private:
  ValueOrigin origin(ValueId value) const {
    if (uint32_t kernel = kernels_.producer(body_, value); kernel != BodyKernels::kNone)
      return {ValueOrigin::Kind::Kernel, kernel};
    const Op &op = body_.op(body_.value(kernels_.source[value.index]).def);
    switch (op.kind) {
    case OpKind::Input:
      return {ValueOrigin::Kind::Input, op.get<SlotFields>().slot};
    case OpKind::Weight:
      return {ValueOrigin::Kind::Weight, op.get<SlotFields>().slot};
    case OpKind::State:
      return {ValueOrigin::Kind::State, op.get<SlotFields>().slot};
    default:
      return {};
    }
  }

  /// Reports a count that is too large at most once per body, as all of its kernels would be.
  uint64_t count(DimExpr expression, llvm::StringRef what, const Op &op) {
    std::optional<Rational> value = expression.rational();
    if (!value && !expression.overflowed())
      internalError(program_.text(body_.name), "`" + expression.str() + "` has no value at level Typed");
    Int128 whole = 0;
    if (value) {
      // Shares of a kernel round up.
      whole = value->numerator / value->denominator;
      if (value->numerator % value->denominator > 0)
        ++whole;
    }
    if (value && whole >= 0 && whole <= kLargestCount)
      return static_cast<uint64_t>(whole);
    if (!failed_)
      diags_.report(op.where, diag::CountTooLarge{.what = what, .kernel = nameOf(op), .formula = expression.str()})
          .note("traces hold counts below 2^63");
    failed_ = true;
    return 0;
  }

  std::string nameOf(const Op &op) const {
    return op.results.empty() ? "" : program_.text(body_.value(op.results[0]).name).str();
  }

  uint64_t tensorBytes(const TensorType &type, const Op &op) {
    DimContext &dims = program_.context->dims;
    DimExpr bits = dims.constant(bitWidth(type.element));
    for (const Dim &dim : type.dims)
      bits = bits * dim.size;
    return count(bits / dims.constant(8), "bytes", op);
  }

  TensorTemplate tensor(ValueId value) {
    const Value &source = body_.value(kernels_.source[value.index]);
    return {.origin = origin(value),
            .name = program_.text(source.name),
            .bytes = source.type ? tensorBytes(*source.type, body_.op(source.def)) : 0};
  }

  /// The kind of its ops; a call goes by the name of what is called.
  llvm::StringRef opType(const Kernel &kernel) const {
    const Op &first = body_.op(kernel.ops.front());
    if (first.kind == OpKind::Call)
      return program_.text(first.get<CallFields>().callee);
    for (OpId op : kernel.ops)
      if (body_.op(op).kind != first.kind)
        return "fused";
    return mnemonic(first.kind);
  }

  void fill(const Kernel &kernel, KernelTemplate &out) {
    const Op &last = body_.op(kernel.ops.back());
    if (!last.results.empty())
      out.name = program_.text(body_.value(last.results[0]).name);
    out.opType = opType(kernel);
    out.flops = count(kernel.flops.contraction + kernel.flops.other, "FLOPs", last);
    out.bytes = count(kernel.bytes, "bytes", last);
    for (ValueId value : kernel.reads) {
      ValueOrigin from = origin(value);
      if (from.kind == ValueOrigin::Kind::Kernel)
        out.kernels.push_back(from.index);
      else if (from.kind == ValueOrigin::Kind::Input)
        out.inputSlots.push_back(from.index);
    }
    llvm::sort(out.kernels);
    out.kernels.erase(std::unique(out.kernels.begin(), out.kernels.end()), out.kernels.end());
    llvm::sort(out.inputSlots);
    out.inputSlots.erase(std::unique(out.inputSlots.begin(), out.inputSlots.end()), out.inputSlots.end());
    if (detail_ == UnrollDetail::Annotations)
      annotate(kernel, last, out);
  }

  void annotate(const Kernel &kernel, const Op &last, KernelTemplate &out) {
    if (last.kind == OpKind::Contract)
      out.extents = contractExtents(last);
    if (last.kind == OpKind::Call)
      for (const Factor &factor : last.get<CallFields>().factors)
        out.extents.push_back(factor.dim.size.size().value_or(0));
    if (!last.results.empty() && body_.value(last.results[0]).type)
      out.dtype = spelling(body_.value(last.results[0]).type->element);
    out.part = spelling(last.part);
    if (last.where.valid()) {
      const SourceManager &sources = diags_.sources();
      out.source = fmt::format("{}:{}", std::string_view(sources.name(last.where.file)),
                               sources.lineOf(last.where.file, last.where.begin));
    }
    for (ValueId value : kernel.reads)
      out.reads.push_back(tensor(value));
    for (ValueId value : kernel.writes)
      out.writes.push_back(tensor(value));
  }

  /// Sizes of the result's dims, then of those summed over, as they stand in the op.
  std::vector<int64_t> contractExtents(const Op &op) const {
    std::vector<int64_t> extents;
    const Value &result = body_.value(op.results[0]);
    for (const Dim &dim : result.type->dims)
      extents.push_back(dim.size.size().value_or(0));
    for (NameId reduced : op.get<ContractFields>().reduced)
      for (ValueId operand : op.operands)
        if (const Dim *dim = body_.value(operand).type->find(reduced)) {
          extents.push_back(dim->size.size().value_or(0));
          break;
        }
    return extents;
  }

  const Program &program_;
  const Body &body_;
  UnrollDetail detail_;
  PassStats &stats_;
  Diagnostics &diags_;
  BodyKernels kernels_;
  bool failed_ = false;
};

} // namespace

std::optional<BodyTemplate> makeTemplate(const Program &program, const Body &body, UnrollDetail detail,
                                         PassStats &stats, Diagnostics &diags) {
  return TemplateMaker(program, body, detail, stats, diags).run();
}

} // namespace stg
