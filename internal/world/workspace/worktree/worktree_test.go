package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
)

// run runs git for the test and returns what it writes.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func newRepo(t *testing.T) *worktree.Repo {
	t.Helper()
	needtest.Program(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	write(t, filepath.Join(dir, ".gitignore"), "*.o\n")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", "first")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func add(t *testing.T, repo *worktree.Repo, name string) *worktree.Tree {
	t.Helper()
	tree, err := repo.Add(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A repository may have a link in place of the folder of trees, which leads anywhere.
func TestNoTreeIsMadeBehindALink(t *testing.T) {
	repo, elsewhere := newRepo(t), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(repo.Root, ".worktrees")); err != nil {
		t.Fatal(err)
	}
	if tree, err := repo.Add(t.Context(), "skill"); err == nil {
		t.Errorf("a tree in %s", tree.Path)
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
		t.Errorf("%v was made there", entries)
	}
}

func TestATreeIsMadeAndDoesNotShowInTheRepository(t *testing.T) {
	repo := newRepo(t)
	tree := add(t, repo, "fix")
	if tree.Path != filepath.Join(repo.Root, ".worktrees", "fix") || tree.Branch != "worktree-fix" || !exists(filepath.Join(tree.Path, "a.txt")) {
		t.Errorf("%+v", tree)
	}
	add(t, repo, "other")
	if got := run(t, repo.Root, "status", "--porcelain"); got != "" {
		t.Errorf("the repository shows %s", got)
	}
	exclude, err := os.ReadFile(filepath.Join(repo.Root, ".git", "info", "exclude"))
	if err != nil || strings.Count(string(exclude), "/.worktrees/") != 1 {
		t.Errorf("%s, %v", exclude, err)
	}
	for _, dir := range []string{tree.Path, filepath.Join(repo.Root, ".git")} {
		if again, err := worktree.Open(t.Context(), dir); err != nil || again.Root != repo.Root {
			t.Errorf("opened from %s: %+v, %v", dir, again, err)
		}
	}
	if found, err := repo.Find(t.Context(), tree.Path); err != nil || found.Branch != tree.Branch {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := repo.Find(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was taken for a tree")
	}
}

func TestACleanTreeGoesWithItsBranch(t *testing.T) {
	repo := newRepo(t)
	tree := add(t, repo, "fix")
	write(t, filepath.Join(tree.Path, "b.o"), "ignored")
	gone, err := tree.Remove(t.Context(), nil)
	if err != nil || gone != (worktree.Removed{}) || exists(tree.Path) || run(t, repo.Root, "branch", "--list", tree.Branch) != "" {
		t.Errorf("%+v, %v", gone, err)
	}
	add(t, repo, "fix") // the name is free again
}

func TestWorkThatIsNotCommittedKeepsTheTree(t *testing.T) {
	for name, work := range map[string]func(t *testing.T, dir string){
		"a changed file":  func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.txt"), "b\n") },
		"a new file":      func(t *testing.T, dir string) { write(t, filepath.Join(dir, "ä new.txt"), "b\n") },
		"a staged file":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "c.txt"), "b\n"); run(t, dir, "add", "-A") },
		"a removed file":  func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "a.txt")) },
		"a detached head": func(t *testing.T, dir string) { run(t, dir, "checkout", "-q", "--detach"); commit(t, dir, "lost") },
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			tree := add(t, repo, "fix")
			work(t, tree.Path)
			found, err := repo.Find(t.Context(), tree.Path)
			if err != nil {
				t.Fatal(err)
			}
			loss, err := found.Loss(t.Context())
			if err != nil || loss.Empty() {
				t.Errorf("loss: %+v, %v", loss, err)
			}
			if _, err := found.Remove(t.Context(), nil); !errors.Is(err, worktree.ErrWork) || !exists(tree.Path) {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

func commit(t *testing.T, dir, name string) {
	t.Helper()
	write(t, filepath.Join(dir, name+".txt"), name)
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", name)
}

func TestCommitsThatAreNowhereElseKeepTheirBranch(t *testing.T) {
	repo := newRepo(t)
	tree := add(t, repo, "fix")
	commit(t, tree.Path, "second")
	loss, err := tree.Loss(t.Context())
	if err != nil || len(loss.Commits) != 1 || !strings.HasSuffix(loss.Commits[0], " second") || loss.Files != nil {
		t.Errorf("%+v, %v", loss, err)
	}
	gone, err := tree.Remove(t.Context(), nil)
	if err != nil || gone.KeptBranch != "worktree-fix" || exists(tree.Path) {
		t.Errorf("%+v, %v", gone, err)
	}
	if got := run(t, repo.Root, "log", "-1", "--format=%s", "worktree-fix"); got != "second" {
		t.Errorf("the branch is at %s", got)
	}
	merged := add(t, repo, "merged")
	commit(t, merged.Path, "third")
	run(t, repo.Root, "merge", "-q", "worktree-merged")
	if gone, err := merged.Remove(t.Context(), nil); err != nil || gone.KeptBranch != "" {
		t.Errorf("merged work kept the branch %+v, %v", gone, err)
	}
}

func TestWhatIsThrownAwayCanBeHadBack(t *testing.T) {
	repo := newRepo(t)
	tree := add(t, repo, "fix")
	commit(t, tree.Path, "second")
	write(t, filepath.Join(tree.Path, "a.txt"), "changed\n")
	write(t, filepath.Join(tree.Path, "new.txt"), "new\n")
	gone, err := tree.Remove(t.Context(), &worktree.RemoveOptions{Discard: true})
	if err != nil || !strings.HasPrefix(gone.Saved, "refs/haft/discarded/fix-") || exists(tree.Path) {
		t.Fatalf("%+v, %v", gone, err)
	}
	for file, want := range map[string]string{"a.txt": "changed", "new.txt": "new", "second.txt": "second"} {
		if got := run(t, repo.Root, "show", gone.Saved+":"+file); got != want {
			t.Errorf("%s is %q", file, got)
		}
	}
	if run(t, repo.Root, "branch", "--list", tree.Branch) != "" || run(t, repo.Root, "status", "--porcelain") != "" {
		t.Error("something is left")
	}
}

func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	repo := newRepo(t)
	marker := filepath.Join(t.TempDir(), "pwned")
	hooks := filepath.Join(repo.Root, ".git", "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		write(t, filepath.Join(hooks, hook), "#!/bin/sh\ntouch "+marker+"\n")
	}
	write(t, filepath.Join(repo.Root, "monitor"), "#!/bin/sh\ntouch "+marker+"\n")
	run(t, repo.Root, "config", "core.fsmonitor", filepath.Join(repo.Root, "monitor"))
	os.Remove(marker) // the line above has run a hook
	tree := add(t, repo, "fix")
	write(t, filepath.Join(tree.Path, "new.txt"), "new\n")
	if _, err := tree.Remove(t.Context(), &worktree.RemoveOptions{Discard: true}); err != nil {
		t.Fatal(err)
	}
	if exists(marker) {
		t.Error("a program of the repository ran")
	}
}

func TestNoFilterOfTheRepositoryRuns(t *testing.T) {
	repo := newRepo(t)
	marker := filepath.Join(t.TempDir(), "ran")
	write(t, filepath.Join(repo.Root, ".gitattributes"), "* filter=evil\n")
	run(t, repo.Root, "add", "-A")
	run(t, repo.Root, "commit", "-qm", "attributes")
	included := filepath.Join(repo.Root, ".git", "more")
	write(t, included, "[filter \"evil\"]\n\tclean = touch "+marker+"; cat\n")
	run(t, repo.Root, "config", "include.path", "more")
	run(t, repo.Root, "config", "filter.evil.smudge", "touch "+marker+"; cat")
	run(t, repo.Root, "config", "filter.evil.process", "touch "+marker+"; false")
	run(t, repo.Root, "config", "filter.evil.required", "true")
	tree := add(t, repo, "quiet")
	write(t, filepath.Join(tree.Path, "a.txt"), "changed\n")
	if _, err := tree.Loss(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := tree.Remove(t.Context(), &worktree.RemoveOptions{Discard: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a filter that the repository sets up ran")
	}
}

func TestGitSeesNoKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	repo := newRepo(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	seen := filepath.Join(home, "seen")
	write(t, filepath.Join(home, ".gitconfig"), "[filter \"own\"]\n\tsmudge = env > "+seen+"; cat\n\tclean = cat\n")
	write(t, filepath.Join(repo.Root, ".gitattributes"), "* filter=own\n")
	run(t, repo.Root, "add", "-A")
	run(t, repo.Root, "commit", "-qm", "attributes")
	add(t, repo, "filtered")
	raw, err := os.ReadFile(seen)
	if err != nil {
		t.Fatalf("the person's own filter did not run: %v", err)
	}
	if strings.Contains(string(raw), "sk-secret") {
		t.Error("a filter saw the key")
	}
}

func TestWhatCannotBeMadeIsSaid(t *testing.T) {
	repo := newRepo(t)
	add(t, repo, "fix")
	for name, want := range map[string]string{"fix": "already exists", "../x": "not a valid worktree name", "a/b": "not a valid worktree name", "-x": "not a valid worktree name", "a..b": "not a valid worktree name", "x.lock": "not a valid worktree name", "": "not a valid worktree name"} {
		if _, err := repo.Add(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	run(t, repo.Root, "branch", "worktree-taken")
	if _, err := repo.Add(t.Context(), "taken"); err == nil || !strings.Contains(err.Error(), "branch worktree-taken already exists") {
		t.Errorf("%v", err)
	}
	empty := t.TempDir()
	if _, err := worktree.Open(t.Context(), empty); !errors.Is(err, worktree.ErrNoRepository) {
		t.Errorf("%v", err)
	}
	run(t, empty, "init", "-q")
	if _, err := worktree.Open(t.Context(), empty); !errors.Is(err, worktree.ErrNoRepository) {
		t.Errorf("without a commit: %v", err)
	}
}

func TestTreesAreMadeAtTheSameTime(t *testing.T) {
	repo := newRepo(t)
	var made sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		made.Go(func() { add(t, repo, name) })
		made.Go(func() { // another conversation, or another process
			if _, err := worktree.Open(t.Context(), repo.Root); err != nil {
				t.Error(err)
			}
		})
	}
	made.Wait()
	trees, err := repo.Trees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tree := range trees {
		names = append(names, tree.Branch)
	}
	if d := cmp.Diff(7, len(names)); d != "" {
		t.Errorf("%v", names)
	}
}
