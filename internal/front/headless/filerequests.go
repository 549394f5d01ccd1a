package headless

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/wire"
)

// fileRequests are those about files and folders.
func fileRequests(q *requests) []row {
	return []row{
		about(q, readFile),
		about(q, suggest),
		about(q, rewind),
		about(q, seedReadState),
		about(q, registerRoot),
	}
}

// readFile reads a file as the Read tool would be allowed to.
func readFile(_ context.Context, talk *harness.Conversation, r *wire.ReadFile) (any, error) {
	path := r.Path
	if host := talk.World.Project.Options.ToolHost; host != nil {
		return nil, fmt.Errorf("cannot read %s: the files of this session are on %s", path, host.Address)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(talk.Dir(), path)
	}
	if !talk.World.MayShow(path) {
		return nil, fmt.Errorf("cannot read %s: a rule denies it", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot read %s: it is not a file", path)
	}
	limit := int64(r.MaxBytes)
	if limit <= 0 {
		limit = usualFile
	}
	raw, truncated, err := regular.Head(path, min(limit, maxFile))
	if err != nil {
		return nil, err
	}
	reply := wire.ReadFileReply{AbsPath: path, Truncated: truncated, RequestedPath: r.Path}
	if r.Encoding == "base64" {
		reply.Contents, reply.Encoding = base64.StdEncoding.EncodeToString(raw), "base64"
		return reply, nil
	}
	lossy := !utf8.Valid(raw)
	reply.Contents, reply.Lossy = string(raw), &lossy
	return reply, nil
}

const (
	usualFile = 1 << 20 // is what a program gets that names no limit
	maxFile   = 32 << 20
)

// rewind restores files to how they were at a message. A program that asks for it has
// decided, so it is not asked again about later changes by others.
func rewind(ctx context.Context, talk *harness.Conversation, r *wire.RewindFiles) (any, error) {
	plan, err := talk.PlanRewind(ctx, r.UserMessageID)
	if err != nil {
		return nil, err
	}
	reply := wire.RewindFilesReply{CanRewind: true}
	for _, step := range plan.Steps {
		reply.FilesChanged = append(reply.FilesChanged, step.Path)
	}
	reply.Insertions, reply.Deletions = plan.Insertions, plan.Deletions
	if r.DryRun {
		return reply, nil
	}
	_, err = talk.Rewind(ctx, plan, true)
	reply.SkippedLinks = new(int) // links are put back like files
	return reply, err
}

// seedReadState records that the conversation knows a file. A file that is gone is not
// known.
func seedReadState(_ context.Context, talk *harness.Conversation, r *wire.SeedReadState) (any, error) {
	_ = talk.World.Seed(r.Path, time.UnixMilli(int64(r.MTime)))
	return nil, nil
}

// registerRoot adds a folder to work in. It must be inside a folder of the session.
func registerRoot(_ context.Context, talk *harness.Conversation, r *wire.RegisterRepoRoot) (any, error) {
	roots := talk.World.Engine.Guard().Roots()
	dir, err := filepath.EvalSymlinks(r.Directory)
	if err != nil {
		return nil, fmt.Errorf("register_repo_root: %w", err)
	}
	within := func(root string) bool { return pathin.Contains(root, dir) }
	switch {
	case slices.Contains(roots, dir):
		return nil, fmt.Errorf("register_repo_root: %s is already registered", dir)
	case !slices.ContainsFunc(roots, within):
		return nil, fmt.Errorf("register_repo_root: %s is not inside a folder of the session", dir)
	}
	return wire.RegisterRepoRootReply{Directory: dir}, talk.AddDirectories([]string{dir})
}
