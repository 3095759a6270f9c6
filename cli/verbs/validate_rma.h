// muster validate rma: a node's evidence for its vendor.
#pragma once

namespace CLI {
class App;
}

namespace muster::cli {

struct Context;

void AddRma(CLI::App& validate, Context& context);

}  // namespace muster::cli
