package headless

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/pathin"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/wire"
)

// handle answers a control request. Those about the conversation open it.
func (s *server) handle(ctx context.Context, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.Initialize:
		return s.initialize(r)
	case *wire.EndSession:
		return nil, nil
	case *wire.GetBinaryVersion:
		return wire.BinaryVersionReply{Version: s.opts.Version}, nil
	case *wire.ListModels:
		return wire.ListModelsReply{Models: models()}, nil
	}
	talk := s.opened()
	if talk == nil {
		return nil, errors.New("there is no conversation yet: send initialize first")
	}
	return s.handleTalk(ctx, talk, r)
}

// handleTalk answers a request about the conversation.
func (s *server) handleTalk(ctx context.Context, talk *harness.Conversation, r wire.Request) (any, error) {
	for _, answer := range []func(context.Context, *harness.Conversation, wire.Request) (any, bool, error){
		s.handleCourse, s.handleFacts, s.handleWork, s.handleMCP,
	} {
		if reply, ok, err := answer(ctx, talk, r); ok {
			return reply, err
		}
	}
	return nil, wire.Unsupported(r)
}

// handleCourse answers a request that changes how the conversation goes on.
func (s *server) handleCourse(ctx context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.Interrupt:
		reply = s.interrupt(talk, r)
	case *wire.SetPermissionMode:
		reply, err = s.setMode(talk, r.Mode)
		s.settle(ctx, talk)
	case *wire.SetModel:
		name := talk.Resolve(r.Model)
		talk.SetModel(name)
		reply = wire.SetModelReply{Model: name}
	case *wire.SetMaxThinkingTokens:
		talk.SetThinking(s.thinking(r))
	case *wire.CancelAsyncMessage:
		gone := talk.Withdraw(r.MessageUUID)
		if gone {
			s.tell.lifecycle(r.MessageUUID, "cancelled")
		}
		reply = wire.CancelAsyncMessageReply{Cancelled: gone}
	case *wire.ApplyFlagSettings:
		err = s.applySettings(talk, r)
	case *wire.UpdateSettings:
		reply, err = wire.Empty{}, s.updateSettings(ctx, talk, r)
	case *wire.RenameSession:
		err = s.rename(ctx, talk, r)
		s.settle(ctx, talk)
	case *wire.GenerateSessionTitle:
		reply, err = s.proposeTitle(ctx, talk, r)
		s.settle(ctx, talk)
	case *wire.SetHasSubscribers: // nothing is held back that could come sooner
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// rename gives the session a title, if it still is the one that the program means.
func (s *server) rename(ctx context.Context, talk *harness.Conversation, r *wire.RenameSession) error {
	if r.SessionID != "" && r.SessionID != talk.Session() {
		return errors.New("session_id is not the current session")
	}
	return talk.Rename(ctx, r.Title)
}

// proposeTitle makes a title. One that somebody has chosen stays.
func (s *server) proposeTitle(ctx context.Context, talk *harness.Conversation, r *wire.GenerateSessionTitle) (any, error) {
	if r.Persist && talk.Title() != "" {
		return wire.TitleReply{Title: wire.NullString(talk.Title())}, nil
	}
	title, err := talk.ProposeTitle(ctx, r.Description)
	if err != nil {
		return nil, fmt.Errorf("generate a title: %w", err)
	}
	if r.Persist && title != "" {
		err = talk.Rename(ctx, title)
	}
	return wire.TitleReply{Title: wire.NullString(title)}, err
}

// updateSettings writes settings into a person's own file. Only what is harmless
// there can be written so: a file of settings also holds rules and hooks.
func (s *server) updateSettings(ctx context.Context, talk *harness.Conversation, r *wire.UpdateSettings) error {
	if r.Source != "localSettings" && r.Source != "userSettings" {
		return fmt.Errorf("update_settings: unsupported source %s", r.Source)
	}
	source := destinations[r.Source]
	if sources := s.opts.Harness.Sources; sources != nil && !slices.Contains(sources, source) {
		return fmt.Errorf("update_settings: this session does not read %s", r.Source)
	}
	var wrong []string
	values := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		var text string
		if key != updatable[r.Source] || json.Unmarshal(r.Settings[key], &text) != nil {
			wrong = append(wrong, key)
		}
		values[key] = text
	}
	if len(wrong) > 0 {
		return fmt.Errorf("update_settings keys not allowed: %s", strings.Join(wrong, ", "))
	}
	target, err := talk.World.Project.Target(source)
	for key, text := range values {
		if err == nil {
			err = settings.SetText(ctx, target, key, text)
		}
	}
	return err
}

// updatable is what can be written into the file of a source.
var updatable = map[string]string{"localSettings": "outputStyle", "userSettings": "effortLevel"}

// handleFacts answers a request that asks what there is.
func (s *server) handleFacts(_ context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.GetContextUsage:
		reply = s.contextUsage(talk)
	case *wire.GetUsage:
		reply = s.usage(talk)
	case *wire.GetSessionCost:
		reply = wire.TextReply{Text: talk.CostText()}
	case *wire.GetSettings:
		reply = s.settings(talk)
	case *wire.ListPermissionRules:
		reply, err = s.permissionRules(talk)
	case *wire.GetHooksListing:
		reply = s.hooksListing(talk)
	case *wire.ReloadSkills:
		reply = s.reloadSkills(talk)
	case *wire.ReloadPlugins:
		reply, err = s.reloadPlugins(talk, r)
	case *wire.ReloadOutputStyles:
		reply = wire.ReloadOutputStylesReply{AvailableOutputStyles: wire.List[string]{"default"}}
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// contextUsage says what fills the context.
func (s *server) contextUsage(talk *harness.Conversation) wire.ContextUsage {
	c := talk.ContextUsage()
	u := wire.ContextUsage{
		TotalTokens: int(c.Total), MaxTokens: int(c.Window), RawMaxTokens: int(c.Window), Model: c.Model,
		AutoCompactThreshold: int(c.CompactAt), IsAutoCompactEnabled: c.CompactAt > 0,
	}
	if c.Window > 0 {
		u.Percentage = float64(c.Total) * 100 / float64(c.Window)
	}
	for _, p := range []struct {
		id, name, kind string
		tokens         int64
	}{
		{"system_prompt", "System prompt", "used", c.System}, {"system_tools", "System tools", "used", c.Tools},
		{"messages", "Messages", "used", c.Messages}, {"free_space", "Free space", "free", max(0, c.Window-c.Total)},
	} {
		u.Categories = append(u.Categories, wire.ContextCategory{ID: p.id, Name: p.name, Tokens: int(p.tokens), Color: "inactive", Kind: p.kind})
	}
	return u
}

func (s *server) usage(talk *harness.Conversation) wire.UsageReply {
	models, cost := s.tell.modelUsage(talk.Usage())
	return wire.UsageReply{Session: wire.SessionUsage{
		TotalCostUSD: cost, ModelUsage: models, TotalDurationMS: time.Since(s.began).Milliseconds(), TotalAPIDurationMS: s.asked.Load(),
	}}
}

// reloadSkills looks for skills again. Those that there are now can be called, also
// if the model was not told of them when the session began.
func (s *server) reloadSkills(talk *harness.Conversation) wire.ReloadSkillsReply {
	var reply wire.ReloadSkillsReply
	for _, sk := range talk.World.Project.Library.Skills.List().Skills {
		reply.Skills = append(reply.Skills, wire.Command{Name: sk.Name, Description: sk.Description, ArgumentHint: sk.Hint})
	}
	return reply
}

// reloadPlugins tells what there is; plugins that are added later count from the
// next session on.
func (s *server) reloadPlugins(talk *harness.Conversation, r *wire.ReloadPlugins) (any, error) {
	if r.RefuseIfBusy && talk.Busy() {
		return nil, &wire.ControlError{Code: wire.ErrorPluginsBusy, Message: "a turn runs: ask again when it has ended"}
	}
	if len(r.AddPlugins) > 0 && string(r.AddPlugins) != "null" && string(r.AddPlugins) != "[]" {
		return nil, &wire.ControlError{Message: "plugins cannot be added to a session that runs: begin it with them"}
	}
	reply := s.plugins(talk)
	if r.HoldOnCacheImpact {
		held := false // nothing changes
		reply.Held = &held
	}
	return reply, nil
}

// plugins tells what there is; those that are added later count from the next
// session on.
func (s *server) plugins(talk *harness.Conversation) wire.ReloadPluginsReply {
	return wire.ReloadPluginsReply{Commands: s.commands(talk), Agents: s.agents(talk), Plugins: plugins(talk), MCPServers: mcpStatus(talk).MCPServers}
}

// permissionRules are those that hold.
func (s *server) permissionRules(talk *harness.Conversation) (any, error) {
	opts, err := talk.World.Project.Policy()
	if err != nil {
		return nil, err
	}
	guard := talk.World.Engine.Guard()
	state := wire.PermissionRulesState{WorkspaceDirectories: guard.Roots()[1:], OriginalCwd: guard.Cwd()}
	for _, r := range opts.Rules {
		listed := wire.ListedRule{Behavior: r.Behavior.String(), Rule: visible.Indented(r.Text), Source: sourceNames[r.Origin.Source], Editability: "persistent"}
		switch r.Origin.Source {
		case settings.Managed:
			listed.Editability = "readonly"
		case settings.Flag, settings.Session:
			listed.Editability = "session"
		}
		state.Rules = append(state.Rules, listed)
	}
	return wire.ListPermissionRulesReply{State: state}, nil
}

// hooksListing is the hooks of the settings that run, and the events there are.
func (s *server) hooksListing(talk *harness.Conversation) any {
	counts := make(map[string]int)
	var reply wire.HooksListingReply
	for _, h := range talk.World.Project.Counts.Hooks() {
		counts[h.Event]++
		listed := wire.ListedHook{
			Event: h.Event, Matcher: visible.Indented(h.Matcher), Source: sourceNames[h.Source], SourceLabel: visible.Indented(h.Origin.String()),
			Type: h.Type, ContentLabel: "Command", CommandText: visible.Indented(h.Command), Timeout: h.Timeout.Seconds(),
		}
		if h.Type == "http" {
			listed.ContentLabel, listed.CommandText = "URL", visible.Indented(h.URL)
		}
		listed.DisplayText = listed.CommandText
		reply.Hooks = append(reply.Hooks, listed)
		if h.Source == settings.Managed {
			reply.Policy.PolicyHookCount++
		}
	}
	for _, name := range settings.Events {
		event := wire.CatalogEvent{Name: name, Summary: eventSummaries[name], SupportsMatcher: !matchless[name]}
		reply.EventCatalog = append(reply.EventCatalog, event)
		if n := counts[name]; n > 0 {
			reply.Events = append(reply.Events, wire.ListedEvent{CatalogEvent: event, HookCount: n})
		}
	}
	reply.Policy.DisabledByPolicy = talk.World.Project.Counts.ManagedFlag("disableAllHooks")
	reply.Policy.ManagedOnly = talk.World.Project.Counts.ManagedFlag("allowManagedHooksOnly")
	reply.Policy.AllDisabled = talk.World.Project.Counts.Flag("disableAllHooks")
	return reply
}

// matchless are the events that are about nothing that a matcher could choose.
var matchless = map[string]bool{"UserPromptSubmit": true, "Stop": true, "PostToolBatch": true}

var eventSummaries = map[string]string{
	"PreToolUse": "before a call", "PostToolUse": "after a call", "PostToolUseFailure": "after a call that failed",
	"PostToolBatch": "after the calls of an answer", "PermissionRequest": "when a call needs a decision",
	"UserPromptSubmit": "when a prompt is sent", "SessionStart": "when a session starts", "SessionEnd": "when a session ends",
	"Stop": "when a turn is about to end", "SubagentStart": "when a sub-agent starts", "SubagentStop": "when a sub-agent is about to end",
	"PreCompact": "before the conversation is compacted", "PostCompact": "after the conversation was compacted", "Notification": "when a person should look",
}

// handleWork answers a request about files and about what runs.
func (s *server) handleWork(ctx context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.ReadFile:
		reply, err = s.readFile(talk, r)
	case *wire.FileSuggestions:
		reply, err = s.suggest(ctx, talk, r)
	case *wire.RewindFiles:
		reply, err = s.rewind(ctx, talk, r)
	case *wire.SeedReadState:
		_ = talk.World.Seed(r.Path, time.UnixMilli(int64(r.MTime))) // a file that is gone is not known
	case *wire.RegisterRepoRoot:
		reply, err = s.registerRoot(talk, r)
	case *wire.BackgroundTasks:
		reply = background(talk, r)
	case *wire.GetTaskOutput:
		reply, err = taskOutput(talk, r)
	case *wire.StopTask:
		_ = talk.StopTask(ctx, r.TaskID) // one that has ended is what was wanted
		reply = wire.Empty{}
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// taskOutput returns the end of what a command in the background has written.
func taskOutput(talk *harness.Conversation, r *wire.GetTaskOutput) (any, error) {
	end, total, ok := talk.TaskOutput(r.TaskID, maxTaskOutput)
	if !ok {
		return nil, errors.New("get_task_output: no command of this session has that task_id")
	}
	return wire.TaskOutputReply{Output: strings.ToValidUTF8(string(end), "\ufffd"), TotalBytes: total, Truncated: int64(len(end)) < total}, nil
}

// maxTaskOutput is how much of a command's output a program gets.
const maxTaskOutput = 8 << 10

// background moves calls to the background. Only for a call by name it matters that
// there is none.
func background(talk *harness.Conversation, r *wire.BackgroundTasks) (reply wire.BackgroundTasksReply) {
	if moved := talk.Background(r.ToolUseID); !moved && r.ToolUseID != "" {
		reply.Backgrounded = &moved
	}
	return reply
}

// registerRoot adds a folder to work in. It must lie in one that the session has.
func (s *server) registerRoot(talk *harness.Conversation, r *wire.RegisterRepoRoot) (any, error) {
	roots := talk.World.Engine.Guard().Roots()
	dir, err := filepath.EvalSymlinks(r.Directory)
	if err != nil {
		return nil, fmt.Errorf("register_repo_root: %w", err)
	}
	within := func(root string) bool { return pathin.Contains(root, dir) }
	switch {
	case slices.Contains(roots, dir):
		return nil, fmt.Errorf("register_repo_root: %s is registered already", dir)
	case !slices.ContainsFunc(roots, within):
		return nil, fmt.Errorf("register_repo_root: %s is not below a folder of the session", dir)
	}
	return wire.RegisterRepoRootReply{Directory: dir}, talk.AddDirectories([]string{dir})
}

// readFile reads a file as the Read tool would be allowed to.
func (s *server) readFile(talk *harness.Conversation, r *wire.ReadFile) (any, error) {
	path := r.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(talk.Dir(), path)
	}
	if !talk.World.MayShow(path) {
		return nil, fmt.Errorf("read %s: a rule denies it", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a file", path)
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

// rewind brings files back to how a message found them. Whoever asks over the wire
// has decided: what others have changed since is not asked about again.
func (s *server) rewind(ctx context.Context, talk *harness.Conversation, r *wire.RewindFiles) (any, error) {
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

// thinking bounds thinking anew; without a bound it is what the session began with.
func (s *server) thinking(r *wire.SetMaxThinkingTokens) *model.ThinkingOptions {
	if r.MaxThinkingTokens != nil || s.opts.Talk.Thinking == nil {
		return harness.ThinkingTokens(r.MaxThinkingTokens, r.ThinkingDisplay)
	}
	first := *s.opts.Talk.Thinking
	first.Display = cmp.Or(r.ThinkingDisplay, first.Display)
	return &first
}

// interrupt stops the turn. The answer does not wait for that.
func (s *server) interrupt(talk *harness.Conversation, r *wire.Interrupt) wire.InterruptReply {
	var reply wire.InterruptReply
	for _, p := range talk.Queued() {
		if r.CancelQueued && talk.Withdraw(p.UUID) {
			reply.Cancelled = append(reply.Cancelled, p.UUID)
			s.tell.lifecycle(p.UUID, "cancelled")
		} else {
			reply.StillQueued = append(reply.StillQueued, p.UUID)
		}
	}
	talk.Interrupt("")
	return reply
}
