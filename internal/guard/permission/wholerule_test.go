package permission_test

import (
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// TestARuleForEveryCommandAllowsEveryCommand: what is not known about a command does not
// matter to a rule about all of them. Deny rules still come first.
func TestARuleForEveryCommandAllowsEveryCommand(t *testing.T) {
	place := newRealPlace(t, "a", "keys/k")
	for _, text := range []string{"Bash", "Bash(*)"} {
		allow := permission.Options{Rules: []permission.Rule{rule(tool.Allow, text)}}
		policy := heldPolicy(t, place, "Read(keys/**)", allow)
		for _, command := range []string{
			`cat "$F"`, "export A=1 && ls", "f(){ ls; }; f", "node $(which x)", "psql $DATABASE_URL", "A=1; echo $A", "for f in *; do wc -l $f; done",
			"while true; do sleep 1; done", "X=(a b); echo ${X[0]}", "cd $DIR && make", "source ./env.sh", "eval \"$(ssh-agent)\"", "set -euo pipefail; go test ./...",
			"(( i++ ))", "coproc cat", "npm run $SCRIPT", "trap 'echo bye' EXIT; sleep 1", "declare -A m; m[a]=1", "printf -v x %s y; echo $x", "find . -name '*.o' -exec touch {} +",
			"make -j$(nproc) | tee log", "python3 -c \"print('$HOME')\"", "cat <<EOF > out\n$HOME\nEOF", "echo {1..3} > list", "git log --format=%H | xargs -n1 git show", "sleep 5 & wait",
			"select x in a b; do echo $x; break; done", "PATH=$PWD/bin:$PATH tool", "if [ -f a ]; then $RUN; fi",
		} {
			if d := policy.Decide(bash(command)); d.Behavior != tool.Allow {
				t.Errorf("%s: %s is %s: %s", text, command, d.Behavior, d.Reason)
			}
		}
		policy = heldPolicy(t, place, "Bash(rm:*)", allow)
		for _, command := range []string{"rm a", "f(){ rm a; }; f", "export A=1 && rm $A"} {
			if d := policy.Decide(bash(command)); d.Behavior != tool.Deny {
				t.Errorf("%s: %s is %s: %s", text, command, d.Behavior, d.Reason)
			}
		}
	}
}
