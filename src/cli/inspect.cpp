#include "cli/commands.h"
namespace terrace::cli { void add_inspect(CLI::App&, Action&) {} }
