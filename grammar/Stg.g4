// The grammar of .stg files. No actions, no predicates, no ambiguities (unittests/Syntax/AmbiguityTest.cpp).
// grammar/README.md says which alternative becomes which AST node, and the two things that stand outside the grammar:
// a newline inside () or [] is white space, and two items of a list in braces stand on two lines or have a `;` between.
grammar Stg;

// ============================ files ============================
file      : (edition | item | NL)* EOF ;
edition   : 'stg' INT ;
item      : use | layer | op | optimizer | model | plan | workload | constant ;
use       : 'use' (path ('.' '{' nl? ids nl? '}')? | STRING 'as' id) ;
constant  : 'let' id '=' nl? expr ;

// What the command line and tests parse on their own.
loneExpr  : nl? expr nl? EOF ;
loneSel   : sel EOF ;

// ============================ signatures ============================
layer     : 'layer' id '(' nl? params? nl? ')' (nl? outs)? block ;
optimizer : 'optimizer' id '(' nl? params? nl? ')' block ;
model     : 'model' id '(' nl? statics? nl? ')' block ;
op        : 'op' id '(' nl? params? nl? ')' nl? outs opBlock ;

params    : tparam (',' nl? tparam)* (nl? ';' nl? statics)? | ';' nl? statics ;
tparam    : id dims (':' dtype)? '?'? ;              // '?' = may be `none`
statics   : staticParam (',' nl? staticParam)* ;
staticParam : id (':' id)? ('=' nl? expr)? ;         // Uppercase id = a dimension; its value is its size
outs      : '->' nl? out (',' nl? out)* ;
out       : id? dims (':' dtype)? ;
dims      : '[' nl? (dim (',' nl? dim)*)? nl? ']' ;
dim       : '...' | dimPart | '(' dimPart (',' dimPart)* ')' ;   // (g, r): composite dimension, major first
dimPart   : id '?'? ;                                // '?' = may be absent
dtype     : id ;

// ============================ op bodies ============================
opBlock   : '{' (opItem | NL | ';')* '}' ;
opItem    : 'kind' kindOf (',' nl? kindOf)*                     # opKind
          | 'flops' expr                                        # opFlops
          | 'other' expr                                        # opOther     // FLOPs outside model contractions
          | 'bytes' expr                                        # opBytes
          | 'where' expr                                        # opWhere
          | 'save' (ids | 'none')                               # opSave
          | 'define' block                                      # opDefine    // reference meaning, ordinary statements
          | 'grad' ('none' | '(' ids ')' block)                 # opGrad
          | lets                                                # opLet
          ;
kindOf    : ('(' ids ')' | id) ':' kindName ('(' nl? (expr (',' nl? expr)*)? nl? ')')? ('along' id)? ;
kindName  : 'map' | 'sum' | 'max' | 'whole' | 'stream' | 'halo' | 'chain' | 'carry' ;

// ============================ statements ============================
block     : '{' (stmt | NL | ';')* '}' ;
stmt      : lets                                                # stmtLet
          | 'factor' id '=' nl? '(' ids ')'                     # stmtFactor
          | require                                             # stmtRequire
          | 'input'  decl (',' nl? decl)*                       # stmtInput
          | 'weight' decl (',' nl? decl)*                       # stmtWeight
          | 'state'  decl (',' nl? decl)*                       # stmtState
          | 'share' id '=' nl? expr                             # stmtShare   // one instance, called many times
          | 'repeat' expr 'as' id ('[' id ']')? block           # stmtRepeat
          | 'unit' id block                                     # stmtUnit
          | ifStmt                                              # stmtIf
          | 'return' nl? expr (',' nl? expr)*                   # stmtReturn
          | 'loss' expr                                         # stmtLoss
          | 'output' ids                                        # stmtOutput
          | target (',' nl? target)* '=' nl? expr               # stmtAssign
          ;
ifStmt    : 'if' expr block (nl? 'else' (block | ifStmt))? ;
require   : 'require' expr (',' nl? STRING)? ;
lets      : 'let' bind (',' nl? bind)* ;
bind      : id '=' nl? expr ('from' '(' ids ')')? ;
decl      : id dims (':' dtype)? ;
target    : id (dims (':' dtype)?)? ;                // a written type is checked; ': f32' pins the element type

// ============================ expressions ============================
// From tight to loose: postfix, minus, * /, reduction, + -, comparison, not, and, or, if.
expr      : primary                                                        # exprPrimary
          | expr '[' nl? view (',' nl? view)* nl? ']'                      # exprView
          | expr '[' nl? expr nl? ']' ('.' id)*                            # exprIndex
          | '-' expr                                                       # exprNeg
          | expr ('*' | '/' | '//' | '%') nl? expr                         # exprMul
          | reduction '(' nl? ('...' | ids) nl? ')' expr                   # exprReduce
          | expr ('+' | '-') nl? expr                                      # exprAdd
          | expr ('==' | '!=' | '<' | '<=' | '>' | '>=' | 'in') nl? expr   # exprCmp
          | 'not' expr                                                     # exprNot
          | expr 'and' nl? expr                                            # exprAnd
          | expr 'or' nl? expr                                             # exprOr
          | 'if' expr 'then' nl? expr nl? 'else' nl? expr                  # exprIf
          ;
reduction : 'sum' | 'mean' | 'max' | 'min' | 'prod' | 'softmax' | 'each' ;
view      : viewDim 'as' viewDim ;                                         // rename, split, merge
viewDim   : id | '(' ids ')' ;
primary   : path                                                           # primPath
          | call                                                           # primCall
          | id ':' call                                                    # primLabelled
          | (INT | FLOAT | BAD_NUMBER)                                     # primNumber
          | STRING                                                         # primString
          | ('true' | 'false')                                             # primBool
          | 'none'                                                         # primNone
          | '(' nl? expr (',' nl? expr)* nl? ')'                           # primParens
          | '[' nl? (expr ('..' expr | (',' nl? expr)*))? nl? ']'          # primList
          ;
call      : path '(' nl? args? (nl? ';' nl? args)? nl? ')' ;
args      : arg (',' nl? arg)* ;
arg       : (id '=' nl?)? expr ;
path      : id ('.' id)* ;
ids       : id (',' nl? id)* ;

// ============================ plans ============================
plan      : 'plan' id ('(' nl? statics? nl? ')')? planBlock ;
planBlock : '{' (planItem | NL | ';')* '}' ;
planItem  : lets                                                           # planLet
          | require                                                        # planRequire
          | 'include' call                                                 # planInclude
          | planIf                                                         # planIfItem
          | 'mesh' axis (',' nl? axis)*                                    # planMesh    // major -> minor; last axis = adjacent ranks
          | 'fold' id 'over' ids '{' nl? axis (',' nl? axis)* nl? '}'      # planFold
          | 'split' splitDim (',' nl? splitDim)* 'over' ids inSel?         # planSplit
          | 'keep' ids 'whole' inSel?                                      # planKeep
          | 'pin' sel ':' layout                                           # planPin
          | 'run' sel (',' nl? sel)* 'as' config                           # planRun     // algorithm choice: ring, two_level, ...
          | 'fuse' sel (',' nl? sel)*                                      # planFuse
          | 'zero' INT 'over' ids inSel? opts?                             # planZero
          | 'store' ('params' | 'grads' | 'optimizer' | 'gathered') 'over' ids inSel? opts?   # planStore
          | 'recompute' ('none' | sel (',' nl? sel)*) opts?                # planRecompute   // `all` is a selector by form
          | 'offload' ids 'to' id inSel? opts?                             # planOffload
          | 'microbatch' expr                                              # planMicrobatch
          | 'pipeline' 'over' id pipeBlock                                 # planPipeline
          | 'precision' opts inSel?                                        # planPrecision
          ;
planIf    : 'if' expr planBlock (nl? 'else' (planBlock | planIf))? ;
axis      : id ('=' ('*' | expr))? ;
splitDim  : id '?'? ('or' 'replicate' | 'pad' | 'zigzag')? ;   // '?' = skip if the model has no such dimension
inSel     : 'in' sel (',' nl? sel)* ;
sel       : selPart ('.' selPart)* ;
selPart   : (id | REBOUND | '*') ('[' ('*' | expr ('..' expr ('by' expr)?)?) ']')? ;
layout    : '[' nl? (layoutDim (',' nl? layoutDim)*)? ('@' id+)? nl? ']' ;
layoutDim : id ('/' id)* ;
opts      : '{' nl? (kv (',' nl? kv)*)? nl? '}' ;
kv        : id '=' expr ;
config    : id configArgs? ;
configArgs : '(' nl? (arg (',' nl? arg)*)? nl? ')' ;
pipeBlock : '{' (pipeItem | NL | ';')* '}' ;
pipeItem  : 'schedule' (id | BAD_NUMBER) configArgs?                       # pipeSchedule    // a name such as 1f1b
          | 'cut' ('even' | 'balanced' | stageGroup (',' nl? stageGroup)*) # pipeCut
          ;
stageGroup : '[' nl? stageUnit (',' nl? stageUnit)* nl? ']' ('*' expr)? ;
stageUnit : path ('*' expr)? ;

// ============================ workloads ============================
workload  : 'workload' id ('(' nl? statics? nl? ')')? workBlock ;
workBlock : '{' (workItem | NL | ';')* '}' ;
workItem  : lets                                                           # workLet
          | 'model' (call | path)                                          # workModel
          | 'plan' (call | path)                                           # workPlan
          | ('train' | 'prefill' | 'decode') opts?                         # workMode
          | 'sweep' sweepVar (',' nl? sweepVar)* ('where' expr)?           # workSweep
          | 'ranks' expr                                                   # workRanks
          | 'routing' config inSel?                                        # workRouting     // MoE load: uniform, zipf(s), trace("f.csv")
          | 'set' sel '=' expr                                             # workSet
          | 'optimizer' ('none' | call | path) inSel?                      # workOptimizer
          | 'emit' id opts?                                                # workEmit
          ;
sweepVar  : id 'in' expr ;

// ============================ tokens ============================
// Words of the language that may also be names.
id        : ID
          | 'all' | 'along' | 'balanced' | 'by' | 'bytes' | 'carry' | 'chain' | 'cut' | 'decode' | 'define' | 'emit'
          | 'even' | 'factor' | 'flops' | 'fold' | 'from' | 'fuse' | 'gathered' | 'grad' | 'grads' | 'halo' | 'include'
          | 'input' | 'keep' | 'kind' | 'layer' | 'loss' | 'map' | 'mesh' | 'microbatch' | 'model' | 'offload' | 'op'
          | 'optimizer' | 'other' | 'output' | 'pad' | 'params' | 'pin' | 'pipeline' | 'plan' | 'precision' | 'prefill'
          | 'ranks' | 'recompute' | 'replicate' | 'routing' | 'run' | 'save' | 'schedule' | 'set' | 'share' | 'split'
          | 'state' | 'store' | 'stream' | 'sweep' | 'to' | 'train' | 'unit' | 'use' | 'weight' | 'whole' | 'workload'
          | 'zero' | 'zigzag' ;
nl        : NL+ ;

// Reserved words.
SUM : 'sum' ; MEAN : 'mean' ; MAX : 'max' ; MIN : 'min' ; PROD : 'prod' ; SOFTMAX : 'softmax' ; EACH : 'each' ;
IF : 'if' ; THEN : 'then' ; ELSE : 'else' ; AND : 'and' ; OR : 'or' ; NOT : 'not' ; IN : 'in' ; AS : 'as' ;
LET : 'let' ; REPEAT : 'repeat' ; RETURN : 'return' ; REQUIRE : 'require' ; OVER : 'over' ; WHERE : 'where' ;
TRUE : 'true' ; FALSE : 'false' ; NONE : 'none' ; STG : 'stg' ;

LPAREN : '(' ; RPAREN : ')' ; LBRACKET : '[' ; RBRACKET : ']' ; LBRACE : '{' ; RBRACE : '}' ;
COMMA : ',' ; SEMI : ';' ; COLON : ':' ; DOT : '.' ; DOTDOT : '..' ; ELLIPSIS : '...' ; ARROW : '->' ; ASSIGN : '=' ;
PLUS : '+' ; MINUS : '-' ; STAR : '*' ; SLASH : '/' ; FLOORDIV : '//' ; PERCENT : '%' ; AT : '@' ; QUESTION : '?' ;
EQ : '==' ; NE : '!=' ; LT : '<' ; LE : '<=' ; GT : '>' ; GE : '>=' ;

FLOAT     : [0-9] [0-9_]* '.' [0-9] [0-9_]* EXPONENT? | [0-9] [0-9_]* EXPONENT ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
INT       : [0-9] [0-9_]* UNIT? ;
fragment UNIT : ('Ki' | 'Mi' | 'Gi' | 'Ti' | 'k' | 'M' | 'G' | 'T') 'B'? | 'B' ;
BAD_NUMBER : [0-9] [0-9_]* ('.' [0-9] [0-9_]*)? [A-Za-z_] [A-Za-z0-9_]* ;    // `8K`: reported, read as a number
STRING    : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
UNTERMINATED : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;
REBOUND   : [A-Za-z_] [A-Za-z0-9_]* '\'' [0-9]+ ;                            // x'2: the second rebinding of x
ID        : [A-Za-z_] [A-Za-z0-9_]* ;
NL        : '\r'? '\n' ;
COMMENT   : '#' ~[\r\n]* -> channel(HIDDEN) ;
WS        : [ \t]+ -> channel(HIDDEN) ;
ERROR_CHAR : [\u0080-\u00FF]+ | . ;
