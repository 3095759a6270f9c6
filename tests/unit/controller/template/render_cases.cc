// Renders the table of templates for compare_with_jinja2.py: reads the cases from the file named
// on the command line, writes one JSON list of {"text": …} or {"error": …}.
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "controller/template/folder.h"

namespace {
constexpr char kCase[] = "case";
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: render_cases CASES.json\n";
    return 2;
  }
  std::ifstream file(argv[1]);
  const auto cases = muster::Value::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!cases.is_array()) {
    std::cerr << "cannot read the cases in " << argv[1] << "\n";
    return 2;
  }
  muster::Value results = muster::Value::array();
  for (const muster::Value& row : cases) {
    muster::tmpl::Scope scope;
    if (row.contains("vars")) {
      for (const auto& [name, value] : row["vars"].items()) scope.Set(name, value);
    }
    muster::tmpl::TemplateFolder folder;
    folder.Add(kCase, row["template"].get<std::string>(), {.file = kCase});
    if (row.contains("files")) {
      for (const auto& [name, text] : row["files"].items())
        folder.Add(name, text.get<std::string>(), {.file = name});
    }
    const auto parsed = folder.Parse(kCase);
    const auto rendered = parsed.ok() ? parsed->Render(scope) : parsed.status();
    if (rendered.ok()) {
      results.push_back({{"text", rendered->text}});
    } else {
      results.push_back({{"error", std::string(rendered.status().message())}});
    }
  }
  std::cout << results.dump() << "\n";
  return 0;
}
