package headless

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/wire"
)

const (
	maxSuggestions = 15
	suggestTime    = 2 * time.Second
)

// suggest completes what a user types after an @: files and folders of the working
// directory, the most likely first. Files that must not be read are not listed.
func suggest(ctx context.Context, talk *harness.Conversation, r *wire.FileSuggestions) (any, error) {
	dir := talk.Dir()
	reply := wire.FileSuggestionsReply{Cwd: dir}
	names, err := entries(talk, dir)
	if r.Query != "" {
		names, err = below(ctx, talk, dir)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range near.Fitting(names, r.Query, maxSuggestions) {
		reply.Suggestions = append(reply.Suggestions, wire.FileSuggestion{Path: name})
	}
	return reply, nil
}

// entries are the files and folders of a folder.
func entries(talk *harness.Conversation, dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		switch {
		case !talk.World.MayRead(filepath.Join(dir, e.Name())), e.Name() == ".git":
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
	found, err := talk.World.Search.Glob(ctx, search.GlobQuery{
		Pattern: "**", Dir: dir, Path: dir, Allow: talk.World.MayRead, Budget: search.Budget{Time: suggestTime},
	})
	if err != nil {
		return nil, err
	}
	folders := make(map[string]bool)
	for _, file := range found.Files {
		name, ok := pathin.Below(dir, file)
		if !ok {
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
