#include "tuner/cli/options/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// In single quotes, as all three shells take it.
std::string quoted(const std::string& text) { return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "'\\''") + "'"; }

/// What fits behind a name: the first sentence.
std::string brief(const std::string& description) {
  return description.substr(0, std::min({description.find(". "), description.find("; "), description.find('\n')}));
}

std::vector<const OptionTable*> named(const CommandTable& command) {
  std::vector<const OptionTable*> options;
  for (const OptionTable& option : command.options) {
    if (!option.is_positional) options.push_back(&option);
  }
  return options;
}

std::string names_of(const std::vector<CommandTable>& commands) {
  std::string names;
  for (std::size_t i = 1; i < commands.size(); ++i) names += (i > 1 ? " " : "") + commands[i].name;
  return names;
}

std::string option_names(const CommandTable& command) {
  std::vector<std::string> names;
  for (const OptionTable* option : named(command)) names.insert(names.end(), option->names.begin(), option->names.end());
  return joined(names);
}

std::string bash(const std::vector<CommandTable>& commands) {
  std::string script = R"(# bash completion for tilesmith
_tilesmith() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return
    if [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; fi
  done
  if [[ $current == = ]]; then current=''; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  case "$command $previous" in
)";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    for (const OptionTable* option : named(commands[i])) {
      if (option->value.empty()) continue;
      std::string pattern;
      for (const std::string& name : option->names) pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : " | ", commands[i].name, name);
      if (!option->words.empty()) {
        script += fmt::format("    {}) words='{}' ;;\n", pattern, joined(option->words));
      } else if (option->takes_file) {
        script += fmt::format("    {}) return ;;\n", pattern);
      } else {
        script += fmt::format("    {}) compopt +o default 2>/dev/null || :; return ;;\n", pattern);
      }
    }
  }
  script += R"(  esac
  if [[ -n $words ]]; then
    local head=${current%"${current##*,}"}
    mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "${current##*,}")
    return
  fi
  case $command in
)";
  script += fmt::format("    '') words='{} {}' ;;\n", names_of(commands), option_names(commands.front()));
  for (std::size_t i = 1; i < commands.size(); ++i) script += fmt::format("    {}) words='{}' ;;\n", commands[i].name, option_names(commands[i]));
  script += R"(  esac
  [[ -n $command && $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _tilesmith tilesmith
)";
  return script;
}

/// One argument of zsh's _arguments.
std::string zsh_option(const OptionTable& option) {
  const auto escaped = [](std::string text) {
    for (const char* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
    return text;
  };
  std::string value;
  if (!option.value.empty()) {
    const std::string words = "(" + joined(option.words) + ")";
    const std::string action = option.words.empty()  ? option.takes_file ? "_files" : " "
                               : option.takes_file ? fmt::format("{{_alternative \"names:name:{}\" \"files:file:_files\"}}", words)
                                                   : words;
    value = fmt::format(":{}:{}", escaped(option.value), action);
  }
  std::string lines;
  for (const std::string& name : option.names) {
    std::string one = fmt::format("{}{}[{}]{}", option.is_repeatable ? "*" : "", name, escaped(brief(option.description)), value);
    lines += fmt::format(" \\\n          {}", "'" + replaced(one, "'", "'\\''") + "'");
  }
  return lines;
}

std::string zsh(const std::vector<CommandTable>& commands) {
  std::string script = "#compdef tilesmith\n_tilesmith() {\n  local state\n  local -a commands=(\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    script += fmt::format("    {}\n", quoted(commands[i].name + ":" + replaced(brief(commands[i].summary), ":", "\\:")));
  }
  script += "  )\n  _arguments -C";
  for (const OptionTable* option : named(commands.front())) script += zsh_option(*option);
  script += " \\\n          '1:command:->command' \\\n          '*::argument:->argument'\n  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    script += fmt::format("        {})\n          _arguments", commands[i].name);
    for (const OptionTable* option : named(commands[i])) script += zsh_option(*option);
    script += " \\\n          '*: :_files'\n          ;;\n";
  }
  return script + "      esac\n      ;;\n  esac\n}\n_tilesmith \"$@\"\n";
}

std::string fish(const std::vector<CommandTable>& commands) {
  std::string script = "# fish completion for tilesmith\n";
  const auto lines = [](const std::string& condition, const CommandTable& command) {
    std::string all;
    for (const OptionTable* option : named(command)) {
      std::string line = fmt::format("complete -c tilesmith -n {}", quoted(condition));
      for (const std::string& name : option->names) line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option->words.empty()) {
        line += (option->takes_file ? " -r -F -a " : " -x -a ") + quoted(joined(option->words));
      } else if (option->takes_file) {
        line += " -r -F";
      } else if (!option->value.empty()) {
        line += " -x";
      }
      all += line + " -d " + quoted(brief(option->description)) + "\n";
    }
    return all;
  };
  script += lines("__fish_use_subcommand", commands.front());
  for (std::size_t i = 1; i < commands.size(); ++i) {
    script += fmt::format("complete -c tilesmith -f -n __fish_use_subcommand -a {} -d {}\n", commands[i].name, quoted(brief(commands[i].summary)));
  }
  for (std::size_t i = 1; i < commands.size(); ++i) script += lines("__fish_seen_subcommand_from " + commands[i].name, commands[i]);
  return script;
}

}  // namespace

std::string completion(std::string_view shell, const std::vector<CommandTable>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw UsageError(fmt::format("SHELL {}: expected bash, zsh or fish", shell));
}

}  // namespace tilesmith::tuner
