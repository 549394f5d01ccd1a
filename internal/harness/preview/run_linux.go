package preview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// Run runs the command where its changes reach nothing, and reads them. An error
// means that it did not run, or that it is not known what it changed; then the
// result, if there is one, has the command's output.
func Run(ctx context.Context, r Request) (*Result, error) {
	r.complete()
	if err := os.MkdirAll(r.Store, 0o700); err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	store, err := filepath.EvalSymlinks(r.Store) // what is mounted is reached without links
	if err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	r.Store = store
	result, err := r.run(ctx, runLayered)
	why := ""
	if failure, ok := sandbox.AsLayerError(err); ok {
		why = string(failure.Reason)
	} else if result != nil {
		why = result.refusedByOverlay()
	}
	if why == "" {
		return result, err
	}
	if result != nil {
		result.Drop()
	}
	return r.run(ctx, func(ctx context.Context, r Request) (*Result, error) { return runCopied(ctx, r, why) })
}

// run runs the command in some way. If there can be no layer on the home folder, the home
// folder is read-only, except for caches: what the command wants to write there fails
// visibly, and is not lost unseen.
func (r *Request) run(ctx context.Context, way func(context.Context, Request) (*Result, error)) (*Result, error) {
	result, err := way(ctx, *r)
	if failure, ok := sandbox.AsLayerError(err); ok && r.Home != "" && failure.Dir == r.Home {
		r.Home, r.read = "", []string{r.Home}
		return way(ctx, *r)
	}
	return result, err
}

// spec is the box of a previewed command. The caches in the home folder are part of its
// layer.
func (r *Request) spec(layers []sandbox.Layer) *sandbox.Spec {
	spec := &sandbox.Spec{Layers: layers, Read: r.read, NoSockets: r.read != nil, Tmp: r.Tmp, Caches: AllCaches(r.Home)}
	if r.Tmp == nil {
		spec.Read = slices.Concat(spec.Read, sandbox.Resolve(sandbox.TmpDirs()...))
	}
	layered := slices.Clone(r.Dirs)
	if r.Home != "" {
		layered = append(layered, r.Home)
	}
	spec.Deny = slices.Concat(r.Deny, foreignSockets(layered))
	spec.Hide = append(r.Hide[:len(r.Hide):len(r.Hide)], r.Store) // a copy there has what is hidden in the folders
	for _, dir := range r.Scratch {
		if r.Home == "" || !pathin.Contains(r.Home, dir) {
			spec.Scratch = append(spec.Scratch, dir)
		}
	}
	return spec
}

func runLayered(ctx context.Context, r Request) (*Result, error) {
	dirs := r.Dirs
	if r.Home != "" {
		dirs = append(dirs[:len(dirs):len(dirs)], r.Home)
	}
	layers, err := sandbox.NewLayers(r.Store, dirs...)
	if err != nil {
		return nil, err
	}
	result := &Result{request: r, dirs: r.Dirs, cleanup: []func() error{layers.Remove}}
	start := thisMoment()
	if err := result.run(ctx, r.spec(layers.List), layers.Stores()...); err != nil {
		return nil, errors.Join(err, result.Drop())
	}
	if result.broken != nil {
		return result, result.broken
	}
	read := &reader{limits: r.Limits}
	for i, layer := range layers.List {
		if i >= len(r.Dirs) {
			result.outside(layer)
			continue
		}
		c, err := readLayer(read, layer.Dir, layer.Upper, start)
		if err != nil {
			result.broken = err
			return result, err
		}
		result.take(c)
	}
	return result, result.settle(start)
}

// run runs the command, whose writes go to some folders; the shell stays where it was.
func (r *Result) run(ctx context.Context, spec *sandbox.Spec, where ...string) error {
	shell, command := r.request.Shell, r.request.Command
	command.Box, command.Detach, command.Foreground = spec, false, true // its change is what is waited for
	before := shell.Dir()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	written := r.request.Limits
	written.Bytes, written.Files = 2*written.Bytes, 2*written.Files // with what is dropped
	for _, dir := range where {
		go watchDisk(ctx, dir, written, end)
	}
	task, err := shell.Run(ctx, command)
	if err != nil {
		return err
	}
	r.Task, r.dir = task, shell.Dir()
	if r.dir != before {
		_ = shell.Move(before) // it was there a moment ago; else the shell finds its way itself
	}
	result := task.Result()
	r.Refused, r.Box = result.Status.Refused, spec
	var limit *LimitError
	switch {
	case result.State != shellrun.Exited && errors.As(context.Cause(ctx), &limit):
		r.broken = limit
	case result.State != shellrun.Exited:
		r.broken = fmt.Errorf("the command did not end by itself (%s), so all its changes are dropped", result.State)
	case result.Status.Err != nil:
		r.broken = fmt.Errorf("it is unknown how the command ended, so all its changes are dropped: %w", result.Status.Err)
	case result.Status.Tier != sandbox.TierBox:
		r.broken = sandbox.ErrUnavailable
	}
	return nil
}

// take takes over what changed in a folder.
func (r *Result) take(c *changes) {
	r.LeftOut = append(r.LeftOut, c.leftOut...)
	for _, e := range c.entries {
		gone := e.before.Exists() && !e.after.Exists()
		if inCache(r.dirs, e.path) && !gone || isRefreshedIndex(&e) {
			if !e.after.Mode.IsDir() {
				r.Caches++
			}
			continue
		}
		r.entries = append(r.entries, e)
	}
	for _, path := range c.unsure {
		if !inCache(r.dirs, path) {
			r.unsure = append(r.unsure, path)
		}
	}
}

// settle finishes what was read.
func (r *Result) settle(start moment) error {
	sortEntries(r.entries)
	slices.Sort(r.unsure)
	r.unsure = slices.Compact(r.unsure)
	r.broken = start.check()
	if r.broken == nil && len(r.unsure) > 0 {
		r.broken = &ConflictError{Paths: r.unsure, While: "the command ran"}
	}
	return r.broken
}

// refusedByOverlay reports what the command met that a plain disk would have let
// it do; "" for nothing. That it only speaks of it does no harm: nothing was
// applied, so it can run again.
func (r *Result) refusedByOverlay() string {
	for _, e := range r.entries {
		if e.linked {
			return "an overlay does not preserve hard links"
		}
	}
	text := r.Task.Output().Excerpt(64<<10, false).Text
	for _, sign := range []string{"nvalid cross-device link", "cross-device link not permitted", "EXDEV"} {
		if strings.Contains(text, sign) {
			return "an overlay does not allow renaming a folder"
		}
	}
	for _, sign := range []string{"alue too large for defined data type", "EOVERFLOW"} {
		if strings.Contains(text, sign) {
			return "an overlay does not allow changing files of other owners"
		}
	}
	return ""
}

// Sweep removes what processes that were killed have left in a store. It leaves
// what is in use.
func Sweep(store string) error {
	err := sandbox.SweepLayers(store)
	copies, _ := filepath.Glob(filepath.Join(store, copyPrefix+"*"))
	for _, dir := range copies {
		if lock, locked := lockDir(dir); locked {
			err = errors.Join(err, removeCopy(dir))
			lock.Close()
		}
	}
	return err
}

// lockDir locks a folder that nobody else has locked.
func lockDir(dir string) (*os.File, bool) {
	file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		file.Close()
		return nil, false
	}
	return file, true
}
