// The only way to include SOCI.
//
// Debian configures SOCI's headers for Boost without depending on it. Boost only adds templates for
// types that we do not use, so it is switched off here rather than installed.
#pragma once

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#undef SOCI_HAVE_BOOST_DATE_TIME

#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
