package needtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// patience is how long an installation may take.
const patience = 5 * time.Minute

// NPM returns a folder whose node_modules has the packages, each name@version. It
// skips the test where they is not available.
func NPM(t testing.TB, packages ...string) string {
	t.Helper()
	Peers(t)
	Program(t, "node")
	dir, err := Packages(t.Context(), packages...)
	if err != nil {
		Missing(t, "%v", err)
	}
	return dir
}

// Locked is NPM for the packages of a package.json and its package-lock.json. More
// are arguments of npm ci, such as --omit=optional.
func Locked(t testing.TB, files fs.FS, more ...string) string {
	t.Helper()
	Peers(t)
	Program(t, "node")
	dir, err := install(t.Context(), files, more)
	if err != nil {
		Missing(t, "%v", err)
	}
	return dir
}

// Packages is [NPM] for programs that are no tests.
func Packages(ctx context.Context, packages ...string) (string, error) {
	packages = slices.Sorted(slices.Values(packages))
	return install(ctx, nil, append([]string{"--no-save", "--force"}, packages...))
}

// Go returns the program of a Go package at a pinned version, such as
// golang.org/x/tools/gopls@v0.20.0. It skips the test where it is not available.
func Go(t testing.TB, pkg string) string {
	t.Helper()
	Peers(t)
	base, err := packagesDir()
	if err != nil {
		t.Fatal(err)
	}
	path, version, _ := strings.Cut(pkg, "@")
	dir := filepath.Join(base, "go-"+filepath.Base(path)+"-"+version)
	if err := once(t.Context(), dir, pkg, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "go", "install", pkg)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS="), time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go install %s: %w\n%s", pkg, err, out)
		}
		return nil
	}); err != nil {
		Missing(t, "%v", err)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// packagesDir is where the packages are kept.
func packagesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "haft-test"), nil
}

// install installs once per content, whoever asks first; the others wait.
func install(ctx context.Context, files fs.FS, args []string) (string, error) {
	texts := map[string][]byte{}
	if files != nil {
		for _, name := range []string{"package.json", "package-lock.json"} {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return "", err
			}
			texts[name] = text
		}
	}
	base, err := packagesDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Append(nil, args, "\x00", string(texts["package.json"]), "\x00", string(texts["package-lock.json"])))
	dir := filepath.Join(base, "npm-"+hex.EncodeToString(sum[:6]))
	return dir, once(ctx, dir, strings.Join(args, "\n"), func(ctx context.Context) error { return npm(ctx, dir, texts, args) })
}

// once lets get fill a folder if nobody has yet; what says what is in it.
func once(ctx context.Context, dir, what string, get func(context.Context) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock := flock.New(dir + ".lock")
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another installation: %w", err)
	}
	defer lock.Close()
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := failedBefore(dir); err != nil {
		return err
	}
	if err := get(ctx); err != nil {
		return remember(dir, err)
	}
	return os.WriteFile(done, []byte(what), 0o644)
}

func npm(ctx context.Context, dir string, texts map[string][]byte, args []string) error {
	verb := "install"
	for name, text := range texts {
		verb = "ci"
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args = append([]string{verb, "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"}, args...)
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second // for what npm started
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm %s in %s: %w\n%s", verb, dir, err, out)
	}
	return nil
}

// What failed once in a run of go test fails for all of it: a machine without a
// network is not to be asked again by every test. The run is the process that
// starts the tests of all packages.

func failure(dir string) string { return dir + ".failed" }

func remember(dir string, err error) error {
	text := strconv.Itoa(os.Getppid()) + "\n" + err.Error()
	return errors.Join(err, os.WriteFile(failure(dir), []byte(text), 0o644))
}

func failedBefore(dir string) error {
	text, err := os.ReadFile(failure(dir))
	if err != nil {
		return nil // nothing failed
	}
	run, why, _ := strings.Cut(string(text), "\n")
	info, err := os.Stat(failure(dir))
	if err != nil || run != strconv.Itoa(os.Getppid()) || time.Since(info.ModTime()) > time.Hour {
		return nil // another run, with a number that may come again
	}
	first, _, _ := strings.Cut(why, "\n")
	return fmt.Errorf("not tried again in this run: %s", first)
}
