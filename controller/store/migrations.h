// The migrations from an empty file to the newest schema.
#pragma once

#include <cstddef>

namespace muster::controller {

struct Migration {
  int version;  // rises by one from 1
  const char* name;
  const char* sql;
};

// Never changed once released; a new schema is a new migration at the end.
extern const Migration kMigrations[];
extern const size_t kMigrationCount;

}  // namespace muster::controller
