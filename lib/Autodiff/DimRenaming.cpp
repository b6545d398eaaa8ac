//===- DimRenaming.cpp ------------------------------------------------------===//
#include "DimRenaming.h"

namespace stg::autodiff {

namespace {

/// Renames in place whatever of an op's fields names a dim.
struct FieldRenamer {
  const DimRenaming &renaming;

  void rename(NameId &name) const {
    if (name)
      name = renaming(name);
  }
  void rename(Dim &dim) const { rename(dim.name); }
  template <class List> void renameAll(List &list) const {
    for (auto &each : list)
      rename(each);
  }

  void operator()(SlotFields &) const {}
  void operator()(ConstantFields &) const {}
  void operator()(MapFields &) const {}
  void operator()(StopFields &) const {}
  void operator()(DropoutFields &) const {}
  void operator()(ConvertFields &) const {}
  void operator()(CollectiveFields &) const {}
  void operator()(HostFields &) const {}
  void operator()(IotaFields &fields) const { rename(fields.dim); }
  void operator()(ContractFields &fields) const { renameAll(fields.reduced); }
  void operator()(ReduceFields &fields) const { renameAll(fields.reduced); }
  void operator()(MaskedFields &fields) const {
    rename(fields.query);
    rename(fields.key);
  }
  void operator()(ViewFields &fields) const {
    for (ViewItem &item : fields.items) {
      renameAll(item.from);
      renameAll(item.to);
    }
    renameAll(fields.order);
  }
  void operator()(ConcatFields &fields) const { rename(fields.dim); }
  void operator()(AtFields &fields) const { rename(fields.dim); }
  void operator()(SliceFields &fields) const {
    rename(fields.from);
    rename(fields.to);
  }
  void operator()(PadFields &fields) const {
    rename(fields.from);
    rename(fields.to);
  }
  void operator()(BroadcastFields &fields) const { renameAll(fields.dims); }
  void operator()(GatherFields &fields) const { rename(fields.dim); }
  void operator()(ScatterFields &fields) const {
    rename(fields.dim);
    renameAll(fields.replaced);
  }
  void operator()(AppendFields &fields) const {
    rename(fields.from);
    rename(fields.into);
  }
  void operator()(CallFields &fields) const {
    for (Factor &factor : fields.factors)
      rename(factor.dim);
  }
};

} // namespace

TensorType DimRenaming::operator()(TensorType type) const {
  for (Dim &dim : type.dims)
    dim.name = (*this)(dim.name);
  return type;
}

OpFields DimRenaming::operator()(OpFields fields) const {
  std::visit(FieldRenamer{*this}, fields);
  return fields;
}

} // namespace stg::autodiff
