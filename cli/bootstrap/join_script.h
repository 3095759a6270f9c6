// The shell lines that turn a machine into a node: install the agent, join.
#pragma once

#include <string>

namespace muster::v1 {
class CreateTokenResponse;
class IssuedToken;
}  // namespace muster::v1

namespace muster::cli {

// One paste-ready line for a root shell. The package is fetched over plain HTTP and accepted only
// with the digest that the controller gave over the authenticated call.
std::string JoinLine(const v1::CreateTokenResponse& response, const v1::IssuedToken& token);

// The same as a script for `sh -s`: reports its progress on standard output ("step: …").
std::string JoinScript(const v1::CreateTokenResponse& response, const v1::IssuedToken& token);

// `text` as one word of a POSIX shell.
std::string ShellQuote(const std::string& text);

}  // namespace muster::cli
