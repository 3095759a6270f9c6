// muster secret rotate.
#pragma once

namespace CLI {
class App;
}

namespace muster::cli {

struct Context;

// Adds `rotate` to the verbs of `secret`.
void AddSecretRotate(CLI::App& secret, Context& context);

}  // namespace muster::cli
