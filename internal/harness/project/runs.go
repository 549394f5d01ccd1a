package project

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// helperKeys are settings whose commands haft starts by itself, or will once it supports them.
var helperKeys = []string{
	"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper",
	"statusLine", "subagentStatusLine", "fileSuggestion", "lspServers",
}

type runList []guard.Run

func (l *runList) add(why string, reach guard.Reach, paths ...string) {
	for _, path := range paths {
		*l = append(*l, guard.Run{Path: path, Why: why, Reach: reach})
	}
}

// addEnvironment adds the files that variables name by which programs run or load something. A
// relative name may start where this process runs, or in the project.
func (l *runList) addEnvironment(environ []string, dir string) {
	wd, _ := os.Getwd() // without one, nothing starts from it
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if name == "PATH" || strings.HasPrefix(name, "npm_package_") || !trust.Risky(name) {
			continue
		}
		sourced := name == "HAFT_ENV_FILE" || name == "CLAUDE_ENV_FILE" // before each command
		words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n:;,='\"", r) })
		for _, word := range append(words, value) {
			for _, from := range []string{wd, dir} {
				path := word
				if !filepath.IsAbs(path) {
					path = filepath.Join(from, path)
				}
				info, err := os.Stat(path)
				if err == nil && info.Mode().IsRegular() || err != nil && (strings.Contains(word, "/") || sourced) {
					l.add("programs run or read this file because of the variable "+name, guard.Itself, path)
				}
			}
		}
	}
}

// addPath adds the folders in which programs are looked for by their names. One that starts
// where a command runs is taken from the root.
func (l *runList) addPath(environ []string, root string) {
	for _, v := range environ {
		value, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				if dir = filepath.Join(root, dir); dir == filepath.Clean(root) {
					continue // every folder would be one
				}
			}
			l.add("programs in this folder run by their names, because PATH lists it", guard.Entries, dir)
		}
	}
}
