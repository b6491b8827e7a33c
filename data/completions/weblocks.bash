# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Completion of weblocks(1) for bash. It is loaded by bash-completion and uses its functions.

# _weblocks_ask ARGUMENT...: prints the first column of the output of `weblocks list`, for the bus of
# the command line. Names with escaped characters are left out, since they can't be typed.
_weblocks_ask() {
  # The time-out keeps a service that does not answer from blocking the shell.
  LC_ALL=C.UTF-8 timeout 2 "$_weblocks_command" list "${_weblocks_system[@]}" "$@" 2>/dev/null |
    cut -f 1 | sed '/\\/d' | sort -u
}

# Offers the lines of standard input that begin with $cur, quoted for the shell.
_weblocks_offer() {
  local word quoted
  while IFS= read -r word; do
    printf -v quoted %q "$word"
    case $cur in
      [\"\']*) [[ $word == "${cur#?}"* ]] && COMPREPLY+=("$word") ;;
      *) [[ $quoted == "$cur"* || $word == "$cur"* ]] && COMPREPLY+=("$quoted") ;;
    esac
  done
}

# Parses the words before the cursor: the bus, the bucket, and the index of the first argument.
_weblocks_look_back() {
  local index=2 word
  _weblocks_system=()
  _weblocks_bucket=()
  # Afterwards index is that of the first argument; without one before the cursor, that of the cursor.
  while ((index < cword)); do
    word=${words[index]}
    case $word in
      --)
        ((++index))
        break
        ;;
      --system) _weblocks_system=(--system) ;;
      --bucket=*) _weblocks_bucket=(--bucket "${word#*=}") ;;
      -b | --bucket)
        _weblocks_bucket=(--bucket "${words[index + 1]}")
        ((++index))
        ;;
      -b*) _weblocks_bucket=(--bucket "${word#-b}") ;;
      --group=*) _weblocks_bucket=(--group "${word#*=}") ;;
      --group)
        _weblocks_bucket=(--group "${words[index + 1]}")
        ((++index))
        ;;
      --and | --wait | --timeout | --connect-timeout | --conflict-exit-code | --slots | --why | --on-loss | --no-bus | --grace | --command | --also-flock | \
        --app | --uid | --client)
        ((++index))
        ;;
      --*) ;;
      # Short options may be combined; only the last one can take the next word as its argument.
      -*[wEbc]) ((++index)) ;;
      -*) ;;
      *) break ;;
    esac
    ((++index))
  done
  _weblocks_first=$index
}

_weblocks_options() {
  local lock='--shared --exclusive --nonblock --wait= --timeout= --connect-timeout= --conflict-exit-code= --steal --slots= --why=
    --verbose --bucket= --group= --system --help'
  case $1 in
    run)
      echo --and= --command= --close --no-fork --also-flock= --on-loss= --no-bus= --grace= "$lock"
      ;;
    hold) echo --stdin "$lock" ;;
    list) echo --all --json --bucket= --group= --system --help ;;
    watch) echo --all --json --table --bucket= --group= --system --help ;;
    break) echo --app= --uid= --client= --bucket= --group= --system --help ;;
    steal) echo --why= --bucket= --group= --system --help ;;
    cluster) echo --json --metrics= --help ;;
    help) echo --help ;;
    *) echo --help --version ;;
  esac
}

_weblocks_words() {
  local IFS=$' \t\n'
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

# Completes the value of an option, if the cursor is at one; otherwise returns 1.
_weblocks_value() {
  local option=$prev
  if [[ $cur == --*=* ]]; then
    option=${cur%%=*}
    cur=${cur#*=}
  fi
  case $option in
    -b | --bucket) _weblocks_offer < <(_weblocks_ask --all | sed '/^cluster:/b; /:/d') ;; # without those of others
    --and) _weblocks_offer < <(_weblocks_ask "${_weblocks_bucket[@]}") ;;
    --group) mapfile -t COMPREPLY < <(compgen -g -- "$cur") ;;
    --on-loss) _weblocks_words 'kill ignore' ;;
    --no-bus) _weblocks_words 'fail run' ;;
    --also-flock | --metrics) _filedir ;;
    --uid) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
    -w | -E | -c | --wait | --timeout | --connect-timeout | --conflict-exit-code | --slots | --why | --grace | --command | --app | \
      --client) ;;
    *) return 1 ;;
  esac
}

_weblocks() {
  local cur prev words cword
  local _weblocks_command=$1 _weblocks_system _weblocks_bucket _weblocks_first
  local commands='run hold list watch break steal cluster help'
  _init_completion -n =: || return

  if ((cword == 1)); then
    if [[ $cur == -* ]]; then
      _weblocks_words "$(_weblocks_options '')"
    else
      _weblocks_words "$commands"
    fi
    return
  fi

  _weblocks_look_back
  if ((_weblocks_first >= cword)); then
    if [[ ${words[cword - 1]} != -- ]] || ((cword == 2)); then
      _weblocks_value && return
      if [[ $cur == -* ]]; then
        _weblocks_words "$(_weblocks_options "${words[1]}")"
        return
      fi
    fi
    case ${words[1]} in
      run | hold | list | watch | break | steal)
        _weblocks_offer < <(_weblocks_ask "${_weblocks_bucket[@]}")
        __ltrim_colon_completions "$cur"
        ;;
      cluster) _weblocks_words status ;;
      help) _weblocks_words "$commands" ;;
    esac
  elif [[ ${words[1]} == run ]]; then
    while [[ ${words[_weblocks_first + 1]} == --and ]] && ((_weblocks_first + 2 < cword)); do
      ((_weblocks_first += 2))
    done
    if [[ ${words[_weblocks_first + 1]} == --and ]] && ((_weblocks_first + 2 == cword)); then
      _weblocks_value
      return
    fi
    if [[ ${words[_weblocks_first + 1]} == -- ]] && ((_weblocks_first + 1 < cword)); then
      ((++_weblocks_first))
    fi
    _command_offset $((_weblocks_first + 1))
  elif ! _weblocks_value && [[ $cur == -* ]]; then
    _weblocks_words "$(_weblocks_options "${words[1]}")"
  fi
} && complete -F _weblocks weblocks
