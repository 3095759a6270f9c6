// Builds the tree of a template from its tokens.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "controller/template/syntax/ast.h"

namespace muster::tmpl {

// limits.max_depth bounds the recursion in the parser and in everything that walks the tree.
// The includes are not resolved yet.
absl::StatusOr<std::shared_ptr<internal::ParsedTemplate>> ParseTemplate(Source source,
                                                                        const Limits& limits);
absl::StatusOr<std::shared_ptr<const internal::ParsedTemplate>> ParseBareExpression(
    Source source, const Limits& limits);

}  // namespace muster::tmpl
