package house

// The layers of the tree, top to bottom, as docs/dev/architecture.md draws them.
// A package outside all of them fails a test: it must be given its place.
//
// Packages of ours are written "./name" ("." is the SDK), others by their
// import path. Patterns are those of the go command, where "..." stands for
// anything and "./tool/..." includes "./tool"; a later "!" takes packages out
// again. Each list ends in a space so that lists can be joined.
const (
	frontEnds    = "./cmd/... ./docs ./embed/... ./internal/cli/... ./internal/front/... ./internal/drive "
	assembly     = "./internal/harness/... "
	sdk          = ". ./wire/... "
	conversation = "./agent/... ./session/... ./model/... ./internal/models/... "
	calls        = "./sched/... "
	guards       = "./hook/... ./internal/guard/... "
	grammars     = "./internal/shell/... "
	config       = "./internal/config/... "
	knowledge    = "./internal/knowledge/... " // what people write down for models
	contract     = "./tool ./tool/...schema "
	tools        = "./internal/tools/... "
	world        = "./internal/world/... "
	leaves       = "./internal/text/... ./internal/sys/... " // one idea each, about strings or the operating system

	// parts are those of the harness, apart from what its other parts stand on.
	parts = assembly + "!./internal/harness/checkpoint !./internal/harness/preview "

	// core is everything a program embeds when it embeds the tool system.
	core = "./tool/... " + tools + conversation + calls + guards + grammars + config + knowledge + world + leaves

	// heavy are modules that cost an embedder binary size, start time or a
	// long list of dependencies.
	heavy = "charm.land/... github.com/charmbracelet/... github.com/nats-io/... github.com/spf13/... " +
		"github.com/alecthomas/chroma/... github.com/yuin/goldmark/... github.com/coder/acp-go-sdk/... " +
		"go.opentelemetry.io/... google.golang.org/... modernc.org/... github.com/ncruces/... "
)

// bans says where imports must not point. Test files may import what they
// like: a test is allowed to stand above what it tests.
var bans = []ban{
	{
		from: contract,
		to:   "./... !./tool/...schema !./internal/text/near !./internal/text/plainjson !./internal/text/shorten", // plain string work
		deep: true,
		why:  "the contract stands alone: every layer is written against it, so it can depend on none",
	},
	{
		from: tools,
		to:   calls + guards + conversation,
		deep: true,
		why:  "a tool does its work and nothing else; asking, hooking, bounding and scheduling happen around it, in one place",
	},
	{
		from: world,
		to:   calls + guards + conversation + tools,
		deep: true,
		why:  "the world does not know who acts on it: files, processes and servers serve any caller",
	},
	{
		from: world + "!./internal/world/mcp/...",
		to:   "./tool/... " + tools,
		why:  "files, search and processes are useful without tools; a tool turns their errors into words for the model",
	},
	{
		from: guards + grammars,
		to:   calls + conversation + tools,
		deep: true,
		why:  "a guard judges a call by the contract; if it knew a tool or the loop, two calls could be judged differently",
	},
	{
		from: config,
		to:   calls + guards + grammars + conversation + tools + world,
		deep: true,
		why:  "settings say what files say; what it means for a call is the guards' business, which read them",
	},
	{
		from: knowledge,
		to:   calls + guards + grammars + conversation + tools + world,
		deep: true,
		why:  "instructions, skills, commands and agents are read from files and say what they say; trust is asked through a function, and who runs them is above",
	},
	{
		from: leaves,
		to:   "./... !./internal/text/... !./internal/sys/... !./tool !./tool/schema",
		deep: true,
		why:  "a leaf is one idea that every layer may use, so it can use none of them",
	},
	{
		from: calls,
		to:   conversation + tools,
		deep: true,
		why:  "the pipeline treats built-in, MCP and sub-agent calls alike, so it must not know any tool or who asked",
	},
	{
		from: conversation,
		to:   tools,
		deep: true,
		why:  "the loop is given its tools as a set; one that it knows by name is one that an embedder cannot replace",
	},
	{
		from: "./model/...",
		to:   calls + guards + "./agent/... ./session/...",
		deep: true,
		why:  "a model is a stream of events behind a seam; what is done with them is the loop's business",
	},
	{
		from: core,
		to:   sdk,
		why:  "the wire is one way to show what happens; the core reports events and does not know who reads them",
	},
	{
		from: sdk,
		to:   calls + guards + conversation + tools + world,
		deep: true,
		why:  "the SDK starts the command and forwards messages; tool code in it would be a second implementation",
	},
	{
		from: "./... !./cmd/... !./internal/cli/...",
		to:   "./cmd/... ./internal/cli/...",
		why:  "the command line is a front end; what another package needs from it belongs below it",
	},
	{
		from: core + sdk,
		to:   assembly,
		deep: true,
		why:  "putting haft together is one place above everything that is put together",
	},
	{
		from: "./internal/harness/project",
		to:   parts + "!./internal/harness/project !./internal/harness/box",
		deep: true,
		why:  "what is set for a folder is the bottom of the harness: world and conversation are made of it",
	},
	{
		from: "./internal/harness/box",
		to:   parts + "!./internal/harness/box",
		deep: true,
		why:  "what a confined program may touch follows from settings and folders alone, so that it can be told before anything is opened",
	},
	{
		from: "./internal/harness/link",
		to:   "./internal/harness/... !./internal/harness/link",
		deep: true,
		why:  "the parts reach the conversation by a link because they must not know it; a link that knew a part would tie them together again",
	},
	{
		from: "./internal/harness/slash",
		to:   "./internal/harness/... !./internal/harness/slash",
		deep: true,
		why:  "what a user typed is read with commands and a function that makes calls; whose they are is the conversation's business",
	},
	{
		from: "./internal/harness/doctor",
		to:   parts + "!./internal/harness/doctor !./internal/harness/project !./internal/harness/box",
		deep: true,
		why:  "the doctor looks at what is set and starts nothing, so it has no use for a world",
	},
	{
		from: "./internal/harness/workdir",
		to:   "./internal/harness/... !./internal/harness/workdir !./internal/harness/link",
		deep: true,
		why:  "where an agent works is a folder and a shell; which agent and why is above",
	},
	{
		from: "./internal/harness/servers",
		to:   parts + "!./internal/harness/servers !./internal/harness/link !./internal/harness/project !./internal/harness/box",
		deep: true,
		why:  "the servers of a conversation are told what is set and report by a link; if they knew the conversation, state would flow in a circle",
	},
	{
		from: "./internal/harness/sysprompt",
		to:   parts + "!./internal/harness/sysprompt/... !./internal/harness/project !./internal/harness/box",
		deep: true,
		why:  "what a model is told follows from what is set and what may be read; the conversation asks for it",
	},
	{
		from: "./internal/harness/... !./internal/harness/answers",
		to:   "./internal/harness/answers",
		deep: true,
		why:  "the answers to slash commands are made of a conversation for a front end; nothing in the harness needs them",
	},
	{
		from: "./internal/harness/crew",
		to:   "./internal/harness/... !./internal/harness/crew",
		deep: true,
		why:  "a crew runs any agents that it is given a function to make",
	},
	{
		from: assembly,
		to:   sdk + frontEnds,
		deep: true,
		why:  "every front end opens the same harness, so it can know none of them",
	},
	{
		from: core + sdk,
		to:   frontEnds,
		deep: true,
		why:  "everything below the front ends serves all of them by one event stream, so it can know none of them",
	},
	{
		from: core + sdk,
		to:   heavy,
		deep: true,
		why:  "heavy parts stay at the edge: whoever embeds the tool system must not pay for screens and servers",
	},
}
