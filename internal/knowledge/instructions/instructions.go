// Package instructions finds what people have written for every conversation in
// a folder: HAFT.md, CLAUDE.md and AGENTS.md, their own and those of the project
// from its root down to the working directory, with the files these include by
// @path.
//
//	files, problems := instructions.Load(dir, home, nil)
//	for _, f := range files {
//		fmt.Fprintf(prompt, "From %s:\n%s\n", f.Path, f.Text)
//	}
//
// Nothing makes loading fail: what cannot be read is a problem to show.
//
// Trust: it reads files below the project's root, through no link that leaves
// it, and the user's own. What a project includes from outside of it is left
// out unless Options.Trusted agrees. The text of a project's files is used
// without trust: it is text in a conversation and grants nothing. What remains:
// it can try to talk a model into something, as any file that a model reads.
//
// Everything here is safe for concurrent use; there is nothing to close.
package instructions

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
)

// A File is one text for the model.
type File struct {
	// Path is where it stands.
	Path string `json:"path"`
	// Source is user, project, or local for a user's own in one project.
	Source settings.Source `json:"source"`
	// IncludedBy is the file that includes it; "" means none.
	IncludedBy string `json:"included_by,omitempty"`
	// Globs are what a rule for certain files is for; nil means every file.
	Globs []string `json:"globs,omitempty"`
	Text  string   `json:"-"`
	// Cut files are longer than Text.
	Cut bool `json:"cut,omitempty"`
}

// Options bound what is loaded. Nil means all zero values.
type Options struct {
	// Root is the project's folder, which dir is in; "" means the nearest folder
	// with a .git, and dir itself if there is none.
	Root string
	// Sources are those to read among user, project and local; nil means all.
	Sources []settings.Source
	// Trusted says whether a project's file may include one from outside of the
	// project; nil means never.
	Trusted func(from, path string) bool
	// Readable says whether a file may be read for a model at all; nil means every
	// one. It is asked about what a project's files are, without links, and about what is
	// included.
	Readable func(path string) bool
	// Excludes are patterns of paths that are left out.
	Excludes []string
	// Shared is the user's folder that Claude Code reads too; "" means .claude in the home
	// folder.
	Shared string
	// MaxFile and MaxTotal are how many bytes are taken of one file and of all;
	// 0 means 100,000 and 200,000.
	MaxFile, MaxTotal int64
}

// How much there may be, and from where on it is worth a remark: what stands here
// is sent with every request.
const (
	maxFile  = 100_000
	maxTotal = 200_000
	large    = 40_000
	maxDepth = 5
	maxFiles = 100
	maxLooks = 1_000
)

// A name is a file that a folder may hold instructions in.
type name struct {
	path   string
	source settings.Source
}

// names come in the order in which they are read.
var names = []name{
	{"HAFT.md", settings.Project},
	{".haft/HAFT.md", settings.Project},
	{"CLAUDE.md", settings.Project},
	{".claude/CLAUDE.md", settings.Project},
	{"AGENTS.md", settings.Project},
	{"HAFT.local.md", settings.Local},
	{"CLAUDE.local.md", settings.Local},
}

// userNames are where notes of the user are kept, in the home folder.
var userNames = []string{".haft/HAFT.md", ".claude/CLAUDE.md"}

// Load reads the instructions for work in dir by a user whose home folder is
// home; "" means that there are none of the user. They come from the general to
// the particular: the user's, the root's, those nearer to dir; what a file
// includes follows it. A text that is there twice is loaded once.
func Load(dir, home string, opts *Options) ([]File, []knowledge.Problem) {
	l, err := newLoader(dir, home, opts)
	if err != nil {
		return nil, []knowledge.Problem{{Path: dir, Text: fmt.Sprintf("could not read its instructions: %v", err)}}
	}
	defer l.close()
	l.loadAll()
	return l.files, l.problems
}
