"""The SAs of ESP in a node's kernel: which have keys, and whether each connection got new ones in both directions."""

KEYED = """\
ip xfrm state | awk '
    $1 == "src" { ends = $2 " " $4; sa = "" }
    $1 == "proto" && $2 == "esp" { sa = ends " " $6 " " $4 }
    $1 ~ /^(aead|enc|auth|auth-trunc)$/ && sa { print sa; sa = "" }
' | sort"""
"""Shell text that prints the two addresses, the request and the number of each SA. One that a daemon has but announced
has a number and no keys yet."""

RENEWED = f"""\
{KEYED} | awk '
    NR == FNR {{ old[$4]; due[$1 " " $2 " " $3] }}
    NR > FNR && !($4 in old) {{ delete due[$1 " " $2 " " $3] }}
    END {{ for (one in due) exit 1; exit NR == FNR }}
' "$0" -"""
"""Shell text that succeeds where each request of the file $0, in each direction, has an SA that is not there."""
