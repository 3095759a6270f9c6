// Entries of a distinguished name and alternative names. For the files of this folder only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/pki/openssl.h"

namespace muster::pki {

// InvalidArgument unless `value` is printable and has 1 to 64 bytes (X.520's bound).
absl::Status AddNameEntry(X509_NAME* name, int nid, absl::string_view value);

// The entry of that kind in UTF-8, "" if there is none. InvalidArgument: several, or a NUL byte in
// it; both are only ever made to deceive.
absl::StatusOr<std::string> NameEntry(const X509_NAME* name, int nid);

// `type` is GEN_URI, GEN_DNS or GEN_IPADD (in text form). A name that is there is not added again.
absl::Status AddAlternativeName(GENERAL_NAMES* names, int type, absl::string_view value);

// The alternative names of one type: GEN_URI or GEN_DNS.
absl::StatusOr<std::vector<std::string>> AlternativeNames(const GENERAL_NAMES* names, int type);

}  // namespace muster::pki
