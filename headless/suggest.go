package headless

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/wire"
)

const (
	maxSuggestions = 15
	suggestTime    = 2 * time.Second
)

// suggest completes what a person types after an @: files and folders of the
// working directory, the likeliest first. What must not be read is not named.
func (s *server) suggest(ctx context.Context, talk *harness.Conversation, r *wire.FileSuggestions) (any, error) {
	dir := talk.Dir()
	reply := wire.FileSuggestionsReply{Cwd: dir}
	names, err := entries(talk, dir)
	if r.Query != "" {
		names, err = below(ctx, talk, dir)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range likeliest(names, r.Query) {
		reply.Suggestions = append(reply.Suggestions, wire.FileSuggestion{Path: name})
	}
	return reply, nil
}

// entries are the files and folders of a folder.
func entries(talk *harness.Conversation, dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		switch {
		case !talk.World.Readable(filepath.Join(dir, e.Name())), e.Name() == ".git":
		case e.IsDir():
			names = append(names, e.Name()+"/")
		default:
			names = append(names, e.Name())
		}
	}
	return names, err
}

// below are the files below a folder that are not ignored, and their folders.
func below(ctx context.Context, talk *harness.Conversation, dir string) (names []string, err error) {
	found, err := talk.World.World.Search.Glob(ctx, search.GlobQuery{
		Pattern: "**", Dir: dir, Path: dir, Allow: talk.World.Readable, Budget: search.Budget{Time: suggestTime},
	})
	if err != nil {
		return nil, err
	}
	folders := make(map[string]bool)
	for _, file := range found.Files {
		name, err := filepath.Rel(dir, file)
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		name = filepath.ToSlash(name)
		names = append(names, name)
		for up := path.Dir(name); up != "." && !folders[up]; up = path.Dir(up) {
			folders[up] = true
			names = append(names, up+"/")
		}
	}
	return names, nil
}

// likeliest are the names that a query can mean, the best first.
func likeliest(names []string, query string) []string {
	type ranked struct {
		name string
		rank int
	}
	var list []ranked
	query = strings.ToLower(query)
	for _, name := range names {
		if rank := likeness(strings.ToLower(name), query); rank > 0 {
			list = append(list, ranked{name, rank})
		}
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(b.rank-a.rank, len(a.name)-len(b.name), strings.Compare(a.name, b.name))
	})
	var best []string
	for _, r := range list[:min(len(list), maxSuggestions)] {
		best = append(best, r.name)
	}
	return best
}

// likeness says how well a name answers a query; 0 means not at all.
func likeness(name, query string) int {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(name, query):
		return 5
	case strings.HasPrefix(base, query):
		return 4
	case strings.Contains(base, query):
		return 3
	case strings.Contains(name, query):
		return 2
	case inOrder(name, query):
		return 1
	}
	return 0
}

// inOrder reports whether the letters of a query are in a name, one after the
// other.
func inOrder(name, query string) bool {
	for _, r := range query {
		i := strings.IndexRune(name, r)
		if i < 0 {
			return false
		}
		name = name[i+len(string(r)):]
	}
	return true
}
