package shellrun

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// suiteEnv has every command of the tests run in a box where it can write the
// directory given there, which the tests use.
const suiteEnv = "SHELLRUN_TEST_CONFINED"

// confineSuite confines all commands of a host, if that is wanted and it has a
// supervisor.
func confineSuite(o *Options) {
	if os.Getenv(suiteEnv) == "" || o.Reexec == (Reexec{}) {
		return
	}
	wrap := o.Wrap
	o.Wrap = func(r Runner) Runner {
		if r = Runner(confining{r}); wrap != nil {
			return wrap(r)
		}
		return r
	}
}

type confining struct{ Runner }

func (c confining) Start(command Command) (Process, error) {
	if command.Box == nil {
		command.Box = &sandbox.Spec{Write: sandbox.Resolve(os.Getenv(suiteEnv), os.TempDir())}
	}
	return c.Runner.Start(command)
}

// exceptions are the tests that must fail in a box, and why.
var exceptions = map[string]string{
	"TestAShedTagDoesNotSurviveAKilledKeeper": "a command cannot kill the keeper",
	"TestAStoppedKeeperDelaysNobodyForLong":   "a command cannot stop the keeper either",
	"TestSocketsOfDaemonsAreNotThere":         "the command without a box that it compares with is in one as well",
}

// TestTheSuiteInABox runs tests again with confined commands: a few of them, all
// where HAFT_THOROUGH or HAFT_NIGHTLY is set.
func TestTheSuiteInABox(t *testing.T) {
	if os.Getenv(suiteEnv) != "" || testing.Short() {
		t.Skip("this is the suite in a box, or a short run")
	}
	needtest.Need(t, needtest.Namespaces)
	only, least := "^Test(ACommand|A.*Directory|Output)", 3
	if needtest.Thorough() {
		only, least = "^Test", 50
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run="+only, "-test.skip=^(TestTheSuiteInABox|Test.*Layer.*|Benchmark.*)$")
	cmd.Env = append(os.Environ(), suiteEnv+"="+os.TempDir())
	out, _ := cmd.CombinedOutput()
	outcome := map[string]string{}
	verdict := regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\w+) `)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if m := verdict.FindStringSubmatch(lines.Text()); m != nil {
			outcome[m[2]] = m[1]
		}
	}
	if len(outcome) < least {
		t.Fatalf("only %d tests ran:\n%s", len(outcome), out)
	}
	for _, name := range slices.Sorted(maps.Keys(outcome)) {
		why := exceptions[name]
		if name == "TestCommandsCannotLookIntoTheHarness" && !sandbox.ScopesSignals() {
			why = "the processes that it wants to look into do not exist there"
		}
		switch {
		case outcome[name] == "FAIL" && why == "":
			t.Errorf("%s fails in a box", name)
		case outcome[name] == "PASS" && why != "":
			t.Errorf("%s is said to fail in a box (%s) and does not", name, why)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
