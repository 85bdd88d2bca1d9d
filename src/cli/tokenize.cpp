#include "cli/commands.h"
namespace terrace::cli { void add_tokenize(CLI::App&, Action&) {} }
