// Command mutate measures what the tests of a package notice: it breaks one thing
// at a time, runs the package's own tests, and names what they let pass.
//
//	go run -C bench ./mutate -n 40 ./sched ./internal/guard/permission
//
// A mutant negates a condition, swaps an operator, drops a statement or adds one to
// a number. The tree is not touched: the broken file is laid over it for the
// compiler. Mutants are chosen by -seed, the same ones each time; those that do not
// compile are not counted, and one that hangs is noticed. Run it by hand, with nice:
// every mutant is a run of the tests.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// root has the packages to test; the program runs in the folder bench.
const root = ".."

func main() {
	n := flag.Int("n", 30, "mutants per package")
	seed := flag.Uint64("seed", 1, "chooses the mutants")
	timeout := flag.Duration("timeout", 2*time.Minute, "for the tests of one mutant")
	only := flag.String("only", "", "only mutants of files whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, pkg := range flag.Args() {
		if err := measure(ctx, pkg, *only, *n, *seed, *timeout); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
	}
}

// measure tries n mutants of a package and writes a line for each that survives.
func measure(ctx context.Context, pkg, only string, n int, seed uint64, timeout time.Duration) error {
	files, err := sources(pkg, only)
	if err != nil {
		return err
	}
	var all []mutant
	for _, file := range files {
		found, err := mutants(file)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tried, survived := 0, 0
	for _, m := range all {
		if tried == n {
			break
		}
		switch lives, err := try(ctx, pkg, m, timeout); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errInvalid):
			continue
		case err != nil:
			return err
		case lives:
			survived++
			fmt.Printf("survives: %s:%d: %s\n", m.file, m.line, m.what)
		}
		tried++
	}
	fmt.Printf("%s: %d of %d mutants noticed (of %d there are)\n", pkg, tried-survived, tried, len(all))
	return nil
}

// sources are the files of a package for this system.
func sources(pkg, only string) ([]string, error) {
	out, err := exec.Command("go", "list", "-C", root, "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pkg, err)
	}
	var files []string
	for _, f := range strings.Fields(string(out)) {
		if strings.Contains(filepath.Base(f), only) {
			files = append(files, f)
		}
	}
	return files, nil
}

var errInvalid = errors.New("the mutant does not compile")

// try runs the tests with a mutant and reports whether they pass.
func try(ctx context.Context, pkg string, m mutant, timeout time.Duration) (lives bool, err error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(broken, m.text, 0o600); err != nil {
		return false, err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: broken}})
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-C", root, "-vet=off", "-failfast", "-timeout", timeout.String(), "-overlay", overlay, pkg)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]") {
		return false, errInvalid
	}
	return err == nil, nil
}
