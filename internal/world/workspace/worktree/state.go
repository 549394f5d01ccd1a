package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/text/shorten"
)

// What State tells is bounded, however much there is.
const (
	stateFiles   = 10
	stateCommits = 5
	stateLine    = 100
)

// State returns, for people and models, which files of the repository that a folder is in are changed and which commits came
// last. It is empty for a folder without a repository. No program that the repository names runs.
func State(ctx context.Context, dir string) string {
	repository := dotGit(dir)
	if repository == "" {
		return "" // without starting git to find out
	}
	env := []string{"GIT_OPTIONAL_LOCKS=0"}
	var log string
	var group sync.WaitGroup
	if !hasNoCommit(repository) {
		group.Go(func() { // which reads no file of the tree, and so runs no filter; it fails if there is no commit yet
			log, _ = runGit(ctx, dir, env, "log", "--no-show-signature", "--format=%h %s", fmt.Sprint("-", stateCommits))
		})
	}
	status, err := git(ctx, dir, env, "status", "--porcelain", "--ignore-submodules=all")
	group.Wait()
	if err != nil {
		return ""
	}
	text := "Git status: clean"
	if lines := plainLines(status); len(lines) > 0 {
		text = "Git status (git status --porcelain):\n" + strings.Join(lines[:min(len(lines), stateFiles)], "\n")
		if more := len(lines) - stateFiles; more > 0 {
			text += fmt.Sprintf("\nand %d more", more)
		}
	}
	if log == "" {
		return text
	}
	return text + "\nLast commits:\n" + strings.Join(plainLines(log), "\n")
}

// hasNoCommit reports whether the branch of a .git folder is a new one without a commit, which spares a process. Whatever
// is unusual, such as the folder of a worktree or references that are kept otherwise than in files, is left to git.
func hasNoCommit(path string) bool {
	branch := branchOf(path)
	if branch == "" || branch == ".invalid" {
		return false
	}
	for _, name := range []string{filepath.Join("refs", "heads", filepath.FromSlash(branch)), "packed-refs", "commondir", "reftable"} {
		if _, err := os.Lstat(filepath.Join(path, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// plainLines returns the lines of a text that a repository's authors wrote, cut and without characters that could pretend to
// be more than text.
func plainLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7F || r == '<' || r == '>' || r == '\uFFFD' {
				return -1
			}
			return r
		}, strings.TrimRight(line, "\r\n"))
		if strings.TrimSpace(line) != "" {
			lines = append(lines, shorten.To(line, stateLine))
		}
	}
	return lines
}
