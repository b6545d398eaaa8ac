//===- ProgramReader.h - the state of reading .stgir text -------------------===//
// Private to lib/IR. Recursive descent over the forms that Printer.cpp writes, in its order. Values and slots are known
// before they are used; what may come later (bodies of ops and optimizers, cotangents) is resolved at the end.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_PROGRAMREADER_H
#define STG_LIB_IR_PROGRAMREADER_H

#include "IRLexer.h"
#include "stg/IR/Program.h"
#include "llvm/ADT/StringMap.h"

namespace stg::detail {

class ProgramReader {
public:
  ProgramReader(FileId file, Diagnostics &diags)
      : lex_(file, diags.sources().text(file), diags), program_(std::make_shared<IRContext>()),
        context_(*program_.context) {}

  /// The whole file. Throws ReadFailure after one message.
  Program read();

private:
  // Names, types, sizes (Reader.cpp).
  template <class Enum> Enum enumeration(std::optional<Enum> (*from)(llvm::StringRef), const std::string &what) {
    llvm::StringRef word = lex_.peekWord();
    std::optional<Enum> value = from(word);
    if (!value)
      lex_.expected(what);
    lex_.takeWord(word);
    return *value;
  }
  [[noreturn]] void unknown(llvm::StringRef kind, llvm::StringRef name, uint32_t begin);
  /// Records a definition; a second one of the same name is an error.
  template <class Index>
  void define(llvm::StringMap<Index> &names, llvm::StringRef kind, llvm::StringRef name, Index index, uint32_t begin) {
    defineAs(names, name, kind, name, index, begin);
  }
  template <class Index>
  void defineAs(llvm::StringMap<Index> &names, llvm::StringRef key, llvm::StringRef kind, llvm::StringRef name,
                Index index, uint32_t begin) {
    if (names.try_emplace(key, index).second)
      return;
    lex_.diags().report(lex_.since(begin), diag::IRDuplicateName{.kind = kind, .name = croppedText(name)});
    throw ReadFailure();
  }
  template <class Index> Index use(const llvm::StringMap<Index> &names, llvm::StringRef kind) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("the name of a " + kind.str());
    auto found = names.find(name);
    if (found == names.end())
      unknown(kind, name, begin);
    return found->second;
  }
  NameId nameId(const std::string &what) { return context_.name(lex_.name(what)); }
  DimExpr parseSize(llvm::StringRef text, uint32_t begin);
  /// `[4*D]`
  DimExpr size();
  /// `B`, or `F = 4*D`, inside brackets.
  Dim dim();
  template <class List> void dims(List &into) {
    lex_.list('[', ']', [&] { into.push_back(dim()); });
  }
  Dim oneDim();
  template <class List> void names(List &into) {
    lex_.list('(', ')', [&] { into.push_back(nameId("a name")); });
  }
  ElementType element() { return enumeration(elementTypeFrom, "an element type"); }
  TensorType type();
  MaskValue mask();
  StaticArg staticArg();

  // Header and plan (ReadHeader.cpp).
  void readHeader();
  MeshAxis axis();
  void axisNames(std::vector<std::string> &into);
  /// The axes of the mesh are cut already: a fold only names them.
  void readRouting();
  void readFold();
  void readSize();
  template <class GlobalId, class Global>
  void readGlobal(std::vector<Global> &globals, llvm::StringMap<GlobalId> &index, llvm::StringRef kind);
  PathPattern pattern();
  Scopes scopes();
  SplitRule::Target splitTarget();
  bool readPlanLine();
  void readStorageRule(uint32_t begin);
  void readOptimizer(uint32_t begin);

  // Pipelines (ReadPipeline.cpp).
  uint32_t count(const std::string &what) { return lex_.number<uint32_t>(what); }
  void readPipelineRule(uint32_t begin);
  Placement placement();
  std::vector<ActionList> actionLists(const Placement &placement);
  void readPipeline();

  // Bodies: slots, values and what every op has (ReadBodies.cpp).
  void readBody();
  void readBodyLine();
  std::string slotName(llvm::StringMap<uint32_t> &slots, size_t index, uint32_t begin);
  template <class Slot> void readOwnedSlot(std::vector<Slot> &list, llvm::StringMap<uint32_t> &slots, uint32_t begin);
  Layout layoutText(llvm::ArrayRef<Dim> dims);
  std::optional<Layout> layout(llvm::StringRef word, const TensorType &type);
  /// Unnamed values live in the same table as `#12`, which is no name.
  static std::string key(const std::string &name, bool isNumber) { return isNumber ? "#" + name : "=" + name; }
  /// `gradient bf16 master bf16 moment bf16`, each unless it is f32, of a weight slot or an optimizer's body.
  template <class Weight> void precision(Weight &weight) {
    for (auto [word, into] : {std::pair("gradient", &weight.gradient), std::pair("master", &weight.master),
                              std::pair("moment", &weight.moment)})
      if (lex_.takeWord(word))
        *into = element();
  }
  ValueId operand();
  void readResult(Op &op);
  void readOp();
  /// `forward`, `input-grad`: the only words with a hyphen.
  Part part();

  // What each kind of op has of its own (ReadOps.cpp).
  void readOperands(Op &op);
  /// `-> bf16`, or what the result says.
  ElementType resultElement(const Op &op);
  void readFields(Op &op);
  ConversionCause cause();
  void readCollective(CollectiveFields &fields);
  void readView(ViewFields &fields);

  /// A factor named before the list that holds it: `h`, or `h:3` where several have the name.
  struct FactorRef {
    std::string name;
    std::optional<uint32_t> number;
    SourceRange where;
  };
  using FactorRefs = std::vector<FactorRef>;
  FactorRef factorRef();
  FactorRefs factorRefs();
  uint32_t resolve(const FactorRef &ref, const CallFields &fields);
  void readCall(Op &op, CallFields &fields);
  void pendBody(bool isGrad);

  // Units (ReadUnits.cpp).
  void readUnit();
  /// Bindings are written in the order of the slots, each with its slot's name.
  void wantSlot(NameId slot);
  template <class GlobalId, class Slot, class Bindings>
  void readBindings(llvm::StringRef keyword, llvm::StringRef global, const std::vector<Slot> &slots,
                    std::vector<Slot> Body::*list, const llvm::StringMap<GlobalId> &globals, Bindings &bindings);
  /// `@blocks[2]:`
  UnitId unitRef();
  UnitValue unitOutput();
  /// Cotangents come from units that are read later.
  struct PendingBinding {
    size_t unit, slot;
    std::string path, output;
    SourceRange where;
  };
  UnitValue pendBinding(size_t slot);
  UnitValue laterOutput(const PendingBinding &pending);
  void readProgramOutput();

  // What is resolved at the end (Reader.cpp).
  struct PendingDefine {
    size_t body, op;
    bool isGrad;
    std::string name;
    SourceRange where;
  };
  struct PendingOptimizer {
    size_t rule, entry;
    std::string name;
    SourceRange where;
  };
  BodyId bodyCalled(const std::string &name, SourceRange where);
  void resolveDefines();

  IRLexer lex_;
  Program program_;
  IRContext &context_;
  Body *body_ = nullptr;
  llvm::StringMap<bool> sizes_;
  llvm::StringMap<InputId> inputs_;
  llvm::StringMap<WeightId> weights_;
  llvm::StringMap<StateId> states_;
  llvm::StringMap<BodyId> bodies_;
  llvm::StringMap<UnitId> units_;
  llvm::StringMap<ValueId> values_;
  llvm::StringMap<uint32_t> inputSlots_, weightSlots_, stateSlots_;
  llvm::StringMap<uint32_t> scalars_;
  std::vector<MeshAtom> atoms_;
  Int128 ranks_ = 1; ///< of the mesh or fold that is being read
  std::vector<PendingDefine> defines_;
  std::vector<PendingOptimizer> optimizerBodies_;
  std::vector<PendingBinding> laterBindings_;
};

} // namespace stg::detail

#endif
