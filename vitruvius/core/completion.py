"""Shell completion: a script for bash, zsh or fish that completes commands and their options."""

from collections.abc import Mapping, Sequence

from vitruvius.core.errors import unknown

_SCRIPTS = {
    "bash": """\
_vitruvius() {{
    local typed="${{COMP_WORDS[*]:1:COMP_CWORD-1}} " choices=""
    case "$typed" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$choices" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _vitruvius vitruvius
""",
    "zsh": """\
#compdef vitruvius
_vitruvius() {{
    local typed="${{words[2,CURRENT-1]}} " choices=""
    case "$typed" in
{cases}
    esac
    compadd -- ${{=choices}}
    _files
}}
compdef _vitruvius vitruvius
""",
    "fish": """\
function _vitruvius
    set -l words (commandline -opc)[2..-1]
    switch "$words "
{cases}
    end
end
complete -c vitruvius -a "(_vitruvius)"
""",
}
_CASES = {"fish": '        case "{command} *"\n            printf "%s\\n" {words}'}
_CASES |= dict.fromkeys(("bash", "zsh"), '        "{command} "*) choices="{words}" ;;')


def script(shell: str, choices: Mapping[str, Sequence[str]]) -> str:
    """Write the script for a shell; `choices` holds what may follow `""`, `train`, `doctor run`, ..."""
    if shell not in _SCRIPTS:
        raise unknown("shell", shell, _SCRIPTS)
    longest_first = sorted(choices, key=len, reverse=True)
    cases = [_CASES[shell].format(command=name, words=" ".join(choices[name])) for name in longest_first]
    return _SCRIPTS[shell].format(cases="\n".join(cases))
