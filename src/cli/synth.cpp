#include "cli/commands.h"
namespace terrace::cli { void add_synth(CLI::App&, Action&) {} }
