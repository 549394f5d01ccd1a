package wire

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Kind is one type of message.
type Kind struct {
	// Tag is the type, and the subtype of system messages.
	Tag Tag
	// New returns an empty message of it.
	New func() Message

	known func() map[string]bool
}

// A RequestKind is one type of control request.
type RequestKind struct {
	Subtype string
	// New returns an empty request of it.
	New func() Request
	// Reply is an empty answer; nil if the answer has no type here.
	Reply any
	// ByHost says that hosts send it, ByCLI that the CLI does.
	ByHost, ByCLI bool

	known func() map[string]bool
}

// Kinds returns all types of messages.
func Kinds() []Kind { return slices.Clone(kinds()) }

// Requests returns all types of control requests.
func Requests() []RequestKind { return slices.Clone(requests()) }

var kinds = sync.OnceValue(func() []Kind {
	return []Kind{
		kind[Init](), kind[SessionStateChanged](), kind[Status](), kind[APIRetry](), kind[ModelFallback](),
		kind[PermissionDenied](), kind[Informational](), kind[Notification](),
		kind[HookStarted](), kind[HookProgress](), kind[HookResponse](),
		kind[CompactBoundary](), kind[CommandsChanged](), kind[ThinkingTokens](), kind[SessionTitleChanged](),
		kind[TaskStarted](), kind[TaskProgress](), kind[TaskUpdated](), kind[TaskNotification](), kind[BackgroundTasksChanged](),

		kind[Assistant](), kind[User](), kind[StreamEvent](), kind[Result](),

		kind[ToolProgress](), kind[CommandLifecycle](), kind[ConversationReset](), kind[KeepAlive](), kind[TranscriptMirror](),
		kind[RateLimitEvent](), kind[PromptSuggestion](), kind[ToolUseSummary](), kind[AuthStatus](),

		kind[JournalPosition](), kind[CallStep](), kind[QuestionAsked](), kind[QuestionAnswered](),

		kind[ControlRequest](), kind[ControlResponse](), kind[ControlCancelRequest](),
	}
})

var requests = sync.OnceValue(func() []RequestKind {
	return []RequestKind{
		byHost[Initialize](InitializeReply{}),
		byHost[Interrupt](InterruptReply{}),
		byHost[SetPermissionMode](SetPermissionModeReply{}),
		byHost[SetModel](SetModelReply{}),
		byHost[SetEffort](Empty{}),
		byHost[SetMaxThinkingTokens](Empty{}),
		byHost[ApplyFlagSettings](Empty{}),
		byHost[UpdateSettings](Empty{}),
		byHost[MCPStatus](MCPStatusReply{}),
		byHost[MCPSetServers](MCPSetServersReply{}),
		byHost[MCPReconnect](Empty{}),
		byHost[MCPToggle](Empty{}),
		byHost[SetMCPPermissionModeOverride](WarningReply{}),
		byHost[MCPReadResource](MCPReadResourceReply{}),
		byHost[MCPCall](MCPCallReply{}),
		byHost[GetContextUsage](ContextUsage{}),
		byHost[GetUsage](UsageReply{}),
		byHost[ReadFile](ReadFileReply{}),
		byHost[RewindFiles](RewindFilesReply{}),
		byHost[SeedReadState](Empty{}),
		byHost[ReloadPlugins](ReloadPluginsReply{}),
		byHost[ReloadSkills](ReloadSkillsReply{}),
		byHost[ReloadOutputStyles](ReloadOutputStylesReply{}),
		byHost[StopTask](Empty{}),
		byHost[BackgroundTasks](BackgroundTasksReply{}),
		byHost[EndSession](Empty{}),
		byHost[ClaimSession](ClaimSessionReply{}),
		byHost[GetSettings](GetSettingsReply{}),
		byHost[ListPermissionRules](ListPermissionRulesReply{}),
		byHost[GetHooksListing](HooksListingReply{}),
		byHost[RenameSession](Empty{}),
		byHost[GenerateSessionTitle](TitleReply{}),
		byHost[GetSessionCost](TextReply{}),
		byHost[GetBinaryVersion](BinaryVersionReply{}),
		byHost[ListModels](ListModelsReply{}),
		byHost[DescribeInput](DescribeInputReply{}),
		byHost[FileSuggestions](FileSuggestionsReply{}),
		byHost[CancelAsyncMessage](CancelAsyncMessageReply{}),
		byHost[GetTaskOutput](TaskOutputReply{}),
		byHost[ExplainCall](ExplainCallReply{}),
		byHost[SetColor](nil),
		byHost[SetHasSubscribers](Empty{}),
		byHost[RegisterRepoRoot](RegisterRepoRootReply{}),
		byHost[Observe](ObserveReply{}),

		byCLI[CanUseTool](PermissionAnswer{}),
		byCLI[HookCallback](HookOutput{}),
		both(byCLI[MCPMessage](MCPMessageReply{})),
		byCLI[Elicitation](ElicitationReply{}),
		byCLI[RequestUserDialog](RequestUserDialogReply{}),
	}
})

func kind[T any, P interface {
	*T
	Message
}]() Kind {
	return Kind{
		Tag:   P(new(T)).Tag(),
		New:   func() Message { return P(new(T)) },
		known: sync.OnceValue(func() map[string]bool { return names(reflect.TypeFor[T](), "type", "subtype") }),
	}
}

func request[T any, P interface {
	*T
	Request
}](reply any) RequestKind {
	return RequestKind{
		Subtype: P(new(T)).Subtype(),
		New:     func() Request { return P(new(T)) },
		Reply:   reply,
		known:   sync.OnceValue(func() map[string]bool { return names(reflect.TypeFor[T](), "subtype") }),
	}
}

func byHost[T any, P interface {
	*T
	Request
}](reply any) RequestKind {
	k := request[T, P](reply)
	k.ByHost = true
	return k
}

func byCLI[T any, P interface {
	*T
	Request
}](reply any) RequestKind {
	k := request[T, P](reply)
	k.ByCLI = true
	return k
}

func both(k RequestKind) RequestKind {
	k.ByHost, k.ByCLI = true, true
	return k
}

// byTag and bySubtype find kinds, made when the first message is decoded.
var (
	byTag = sync.OnceValue(func() map[Tag]*Kind {
		m := map[Tag]*Kind{}
		for _, k := range kinds() {
			m[k.Tag] = &k
		}
		return m
	})
	bySubtype = sync.OnceValue(func() map[string]*RequestKind {
		m := map[string]*RequestKind{}
		for _, k := range requests() {
			m[k.Subtype] = &k
		}
		return m
	})
)

// names returns the JSON names of a struct's fields, and more.
func names(t reflect.Type, more ...string) map[string]bool {
	m := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			m[name] = true
		}
	}
	for _, name := range more {
		m[name] = true
	}
	return m
}
