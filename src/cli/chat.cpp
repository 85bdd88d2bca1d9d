#include "cli/commands.h"
namespace terrace::cli { void add_chat(CLI::App&, Action&) {} }
