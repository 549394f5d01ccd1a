package hook

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// linger is how long to wait for output after a command has ended: a program that it left
// in the background may hold the pipe open forever.
const linger = 200 * time.Millisecond

func exitError(err error, run *Run) error {
	if run.Stderr == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, run.Stderr)
}

// notStarted is the error of a hook that never started, though its exit code is 2.
type notStarted struct{ stderr string }

func (e *notStarted) Error() string { return "it could not be started: " + e.stderr }

var (
	// missingScript is what interpreters print about a script that does not exist, if they
	// exit with 2.
	missingScript = lazyregexp.New(`^(?:\S*python[\d.]*: can't open file '([^']+)': .*|Can't open perl script "([^"]+)": .*|\S*sh: \d+: (?:cannot open|Can't open) (\S+?)(?:: .*)?)$`)
	// badSyntax is what a shell says about a command that it cannot parse.
	badSyntax = lazyregexp.New(`^\S*sh: (?:-c: |\d+: )?(?:line \d+: )?(?:[Ss]yntax error|unexpected EOF)`)
)

// from resolves a path against a folder.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

var providerKey = lazyregexp.New(`(?i)^(ANTHROPIC|CLAUDE|HAFT|OPENAI|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE|MISTRAL|GROQ|DEEPSEEK|XAI|COHERE|TOGETHER|FIREWORKS)_(.*_)?(KEY|TOKEN|SECRET|HEADERS|CREDENTIALS)$|^AWS_BEARER_TOKEN_`)

// ProviderKey reports whether a variable has the name of a model provider's key.
func ProviderKey(name string) bool { return providerKey.MatchString(name) }
