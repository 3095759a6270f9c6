#include "common/pki/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::pki {
namespace {

constexpr size_t kMaxEntryBytes = 64;

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

}  // namespace

absl::Status AddNameEntry(X509_NAME* name, int nid, absl::string_view value) {
  if (value.empty() || value.size() > kMaxEntryBytes || !IsPrintable(value)) {
    return absl::InvalidArgumentError(absl::StrCat("the ", OBJ_nid2ln(nid),
                                                   " of a certificate must have 1 to ",
                                                   kMaxEntryBytes, " printable bytes"));
  }
  if (X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("setting the ", OBJ_nid2ln(nid)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> NameEntry(const X509_NAME* name, int nid) {
  const int index = X509_NAME_get_index_by_NID(name, nid, -1);
  if (index < 0) return std::string();
  if (X509_NAME_get_index_by_NID(name, nid, index) >= 0)
    return absl::InvalidArgumentError(absl::StrCat("more than one ", OBJ_nid2ln(nid)));
  unsigned char* utf8 = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
  if (size < 0)
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("reading the ", OBJ_nid2ln(nid)));
  std::string value(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  if (value.find('\0') != std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat("a NUL byte in the ", OBJ_nid2ln(nid)));
  return value;
}

absl::Status AddAlternativeName(GENERAL_NAMES* names, int type, absl::string_view value) {
  const std::string text(value);
  if (text.empty() || !IsPrintable(text))
    return absl::InvalidArgumentError("an alternative name is empty or not printable");
  ASN1_STRING* string = nullptr;
  if (type == GEN_IPADD) {
    string = a2i_IPADDRESS(text.c_str());
  } else {
    string = ASN1_IA5STRING_new();
    ASN1_STRING_set(string, text.data(), static_cast<int>(text.size()));
  }
  if (string == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("'", text, "' is not an IP address"));
  GENERAL_NAME* name = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(name, type, string);
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    if (GENERAL_NAME_cmp(sk_GENERAL_NAME_value(names, i), name) != 0) continue;
    GENERAL_NAME_free(name);
    return absl::OkStatus();
  }
  sk_GENERAL_NAME_push(names, name);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> AlternativeNames(const GENERAL_NAMES* names, int type) {
  std::vector<std::string> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != type) continue;
    std::string value(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.ia5)),
                      static_cast<size_t>(ASN1_STRING_length(name->d.ia5)));
    if (value.find('\0') != std::string::npos)
      return absl::InvalidArgumentError("a NUL byte in an alternative name");
    found.push_back(std::move(value));
  }
  return found;
}

}  // namespace muster::pki
