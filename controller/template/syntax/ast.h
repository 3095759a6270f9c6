// The parsed form of a template: expressions and statements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "controller/template/syntax/source.h"

namespace muster::tmpl {

struct FilterRow;
struct TestRow;

enum class ExprKind {
  kLiteral,
  kName,
  kList,       // operands: the elements
  kDict,       // operands: key, value, key, value, …
  kAttribute,  // operands[0] . name
  kItem,       // operands[0] [ operands[1] ]
  kSlice,      // operands[0] [ operands[1..3] ], each of which may be null
  kCall,       // name ( arguments )
  kMethod,     // operands[0] . name ( arguments )
  kFilter,     // operands[0] | name ( arguments )
  kTest,       // operands[0] is name ( arguments )
  kUnary,      // op operands[0]
  kBinary,     // operands[0] op operands[1]
  kConcat,     // operands joined by ~
  kCompare,    // operands[0] ops[0] operands[1] ops[1] operands[2] …
  kAnd,
  kOr,
  kNot,
  kConditional,  // operands[1] if operands[0] else operands[2], which may be null
  kBlock,        // the text of the set block whose filters are evaluated
};

enum class Op {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kNegate,
  kPlus,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr;
using ExprPtr = std::unique_ptr<const Expr>;

struct Argument {
  std::string name;  // "" when given by position
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  Place place;
  int depth = 1;  // of the tree under this node; limited by the parser
  std::string name;
  std::vector<ExprPtr> operands;
  std::vector<Argument> arguments;
  std::vector<Op> ops;
  std::shared_ptr<const Value> literal;
  const FilterRow* filter = nullptr;
  const TestRow* test = nullptr;
};

enum class NodeKind { kText, kOutput, kIf, kFor, kSet, kInclude };

struct Node;
using Body = std::vector<std::unique_ptr<const Node>>;

// One arm of an if; the condition of the else arm is null.
struct Branch {
  ExprPtr condition;
  Body body;
};

struct Node {
  NodeKind kind = NodeKind::kText;
  Place place;
  std::string text;
  ExprPtr expr;                      // the value to print, set or iterate over; set block: filters
  std::vector<std::string> targets;  // of for and set
  ExprPtr condition;                 // for … if
  std::vector<Branch> branches;      // of an if; for: the body, then the else if any; set: block
  size_t include = 0;                // into the includes of the template
};

namespace internal {
struct ParsedTemplate;

struct Include {
  std::string name;
  Place place;
  std::shared_ptr<const ParsedTemplate> parsed = nullptr;
};

struct ParsedTemplate {
  explicit ParsedTemplate(Source s) : source(std::move(s)) {}
  Source source;
  Body body;
  ExprPtr expression;  // instead of a body: a bare expression
  std::vector<std::string> names;
  std::vector<Include> includes;
  int include_depth = 0;  // 1: it includes templates that include none
};
}  // namespace internal

}  // namespace muster::tmpl
