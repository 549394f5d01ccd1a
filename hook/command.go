package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// linger is how long to wait for output after a command has ended: a program that it left
// in the background may hold the pipe open forever.
const linger = 200 * time.Millisecond

// command runs a shell command that reads its input from standard input.
func (r *Runner) command(ctx context.Context, h *Hook, about Common, input []byte, run *Run) (Output, error) {
	var stdout head
	var stderr tail
	cmd := r.newCmd(ctx, h, about.Cwd, h.Command)
	cmd.Env = append(cmd.Env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID="+about.SessionID)
	if about.Effort != nil {
		cmd.Env = append(cmd.Env, "CLAUDE_EFFORT="+about.Effort.Level)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	code, err := r.runProcess(ctx, cmd)
	printed, dropped := stdout.get()
	run.Stdout, run.Stderr, run.Dropped, run.ExitCode = beginning(printed), strings.TrimSpace(stderr.get()), dropped, code
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Output{}, ctx.Err()
	case run.ExitCode == 2 && (err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay)):
		return r.blocked(ctx, h, cmd, run)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return Output{}, exitError(err, run)
	case run.ExitCode != 0:
		return Output{}, exitError(fmt.Errorf("exit status %d", run.ExitCode), run)
	case dropped > 0:
		return Output{}, fmt.Errorf("it printed %d bytes more than the limit of %d", dropped, maxOutput)
	}
	return parseOutput(printed, h.Event, input)
}

// runProcess runs the process of a hook and returns its exit code.
func (r *Runner) runProcess(ctx context.Context, cmd *exec.Cmd) (code int, err error) {
	if r.opts.Run != nil {
		if code, done, err := r.opts.Run(ctx, cmd); done {
			return code, err
		}
	}
	err = cmd.Run()
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return code, err
}

func (r *Runner) newCmd(ctx context.Context, h *Hook, dir, command string) *exec.Cmd {
	args := append(slices.Clone(r.opts.Shell), command)
	if h.Args != nil {
		args = r.fillIn(h, append([]string{command}, h.Args...))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = r.opts.Project
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	cmd.Env = r.environ(h)
	cmd.WaitDelay = linger
	processgroup.Own(cmd)
	return cmd
}

// fillIn puts the project's folder, and the hook's own variables, into words that no shell
// sees.
func (r *Runner) fillIn(h *Hook, words []string) []string {
	pairs := []string{"${CLAUDE_PROJECT_DIR}", r.opts.Project, "${HAFT_PROJECT_DIR}", r.opts.Project}
	for name, value := range h.Vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	known := strings.NewReplacer(pairs...)
	for i, word := range words {
		words[i] = known.Replace(word)
	}
	return words
}

func exitError(err error, run *Run) error {
	if run.Stderr == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, run.Stderr)
}

// blocked is what exit code 2 means: the hook blocks, unless it never started.
func (r *Runner) blocked(ctx context.Context, h *Hook, cmd *exec.Cmd, run *Run) (Output, error) {
	if r.neverStarted(ctx, h, cmd.Dir, run.Stderr) {
		return Output{}, &notStarted{run.Stderr}
	}
	reason := run.Stderr
	if reason == "" {
		reason = "no reason given"
	}
	return Output{Decision: "block", Reason: fmt.Sprintf("[%s]: %s", h.Command, reason)}, nil
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

// neverStarted reports whether code 2 does not come from the hook, but means that there is
// no such hook. The output may contain words of the model, so it is believed only if the
// fault can be verified: the script that the command names is missing, or the shell cannot
// parse the command.
func (r *Runner) neverStarted(ctx context.Context, h *Hook, dir, stderr string) bool {
	if m := missingScript.FindStringSubmatch(stderr); m != nil {
		script := from(dir, m[1]+m[2]+m[3])
		_, err := os.Stat(script)
		return errors.Is(err, os.ErrNotExist) && slices.Contains(r.paths(h, dir), script)
	}
	if h.Args == nil && badSyntax.MatchString(stderr) && len(r.opts.Shell) == 2 && r.opts.Shell[1] == "-c" {
		check := r.newCmd(ctx, h, dir, h.Command)
		check.Args = slices.Insert(check.Args, 1, "-n")
		return check.Run() != nil && ctx.Err() == nil
	}
	return false
}

// paths are the words of a hook's command as files, including those that are not.
func (r *Runner) paths(h *Hook, dir string) []string {
	variable := func(name string) string {
		for _, v := range slices.Backward(r.environ(h)) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var paths []string
	for word := range strings.FieldsSeq(h.Command) {
		word = strings.Trim(word, `"';`)
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			word = variable("HOME") + "/" + rest
		}
		paths = append(paths, from(dir, os.Expand(word, variable)))
	}
	return paths
}

// from resolves a path against a folder.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// environ is the environment of a hook's command.
func (r *Runner) environ(h *Hook) []string {
	var env []string
	for _, v := range r.opts.Environ {
		name, _, _ := strings.Cut(v, "=")
		if !r.opts.Secret(name) || slices.Contains(h.Env, name) {
			env = append(env, v)
		}
	}
	if r.opts.Project != "" {
		env = append(env, "CLAUDE_PROJECT_DIR="+r.opts.Project, "HAFT_PROJECT_DIR="+r.opts.Project)
	}
	for name, value := range h.Vars {
		env = append(env, name+"="+value)
	}
	return env
}

var providerKey = lazyregexp.New(`(?i)^(ANTHROPIC|CLAUDE|HAFT|OPENAI|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE|MISTRAL|GROQ|DEEPSEEK|XAI|COHERE|TOGETHER|FIREWORKS)_(.*_)?(KEY|TOKEN|SECRET|HEADERS|CREDENTIALS)$|^AWS_BEARER_TOKEN_`)

// ProviderKey reports whether a variable has the name of a model provider's key.
func ProviderKey(name string) bool { return providerKey.MatchString(name) }
