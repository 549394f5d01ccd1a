package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/haftdev/haft/docs"
	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/internal/tui/markdown"
	"github.com/haftdev/haft/internal/tui/style"
)

// newHelp replaces cobra's help command: a topic is a guide, as with git; the flags of a
// command are shown by its --help.
func newHelp(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "help [TOPIC | COMMAND]",
		Short: message("Read a guide or a command's help"),
		Long: message(`Read one of the guides that come with haft, or a command's help.

Without an argument, list both. On a terminal, a long guide is shown in your pager
(the variable PAGER, or less); PAGER=cat prints it.`),
		Example: "  haft help permissions\n  haft help mcp add\n  haft help preview | less",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topicNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return s.help(c.Root(), args) },
	}
}

func topicNames() []string {
	var names []string
	for _, t := range docs.Topics() {
		names = append(names, t.Name)
	}
	return names
}

func (s Streams) help(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return s.listHelp(root)
	}
	if topic, ok := docs.Find(strings.TrimSuffix(strings.TrimPrefix(args[0], "docs/"), ".md")); ok && len(args) == 1 {
		if own, ok := docs.Find(s.words().Name() + "/" + topic.Name); ok {
			topic = own
		}
		return s.print(topic)
	}
	if c, rest, err := root.Find(args); err == nil && c != root && len(rest) == 0 {
		return c.Help()
	}
	names := slices.Sorted(slices.Values(append(topicNames(), commandNames(root)...)))
	hint := cmp.Or(elsewhere(root, args[0]), near.Hint(args[0], slices.Compact(names)))
	if hint == "" || len(args) > 1 {
		hint = " Run 'haft help' for the list."
	}
	return usageError{fmt.Errorf("there is no guide or command %q.%s", strings.Join(args, " "), hint)}
}

func (s Streams) listHelp(root *cobra.Command) error {
	if err := root.Help(); err != nil {
		return err
	}
	var b strings.Builder
	words := s.words()
	fmt.Fprintf(&b, "\n%s\n", words.T("Guides, each printed by 'haft help NAME':"))
	for _, t := range docs.In(words.Name()) {
		fmt.Fprintf(&b, "  %-14s %s\n", t.Name, t.Title)
	}
	_, err := fmt.Fprint(s.folded(), b.String())
	return err
}

// print writes a guide: formatted for a terminal, as Markdown otherwise.
func (s Streams) print(topic docs.Topic) error {
	text := topic.Text
	if !isTerminal(s.Out) {
		_, err := fmt.Fprint(s.Out, text)
		return err
	}
	page := markdown.New(pageWidth(s.Out), style.Of(style.Detect(os.Getenv)))
	page.Write(withoutLinks(text))
	lines := page.Close()
	text = strings.Join(lines, "\n") + "\n"
	if s.paged(text, len(lines)) {
		return nil
	}
	_, err := fmt.Fprint(s.Out, text)
	return err
}

// withoutLinks replaces links to other guides by the command that prints them, and takes out
// links within a guide and to files: in a terminal they lead nowhere.
func withoutLinks(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code {
			line = guideLink.ReplaceAllStringFunc(line, withoutLink)
		}
		b.WriteString(line)
	}
	return b.String()
}

func withoutLink(link string) string {
	parts := guideLink.FindStringSubmatch(link)
	label, file := parts[1], parts[2]
	topic, ok := docs.Find(strings.TrimSuffix(file, ".md"))
	switch {
	case strings.Contains(file, "://"):
		return link
	case !ok || strings.Trim(label, "`") == "haft help "+topic.Name:
		return label
	}
	return fmt.Sprintf("%s (`haft help %s`)", label, topic.Name)
}

// guideLink is a link with its label and its file, which is empty within a guide.
var guideLink = lazyregexp.New(`!?\[([^\[\]\n]+)\]\(([^()\s#]*)(?:#[^()\s]*)?\)`)

// paged shows a text that is longer than the terminal in the user's pager (PAGER, or less).
// It reports false if it is to be printed as it is: it fits, the user wants no pager, or
// there is none.
func (s Streams) paged(text string, lines int) bool {
	out, ok := s.Out.(*os.File)
	in, okIn := s.In.(*os.File)
	if !ok || !okIn || !isTerminal(in) {
		return false
	}
	_, height, err := term.GetSize(int(out.Fd()))
	if err != nil || lines < height {
		return false
	}
	pager, chosen := os.LookupEnv("PAGER")
	if !chosen {
		pager = "less"
	}
	words := strings.Fields(pager)
	if len(words) == 0 || words[0] == "cat" {
		return false
	}
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), out, s.Err
	c.Env = os.Environ()
	if _, ok := os.LookupEnv("LESS"); !ok {
		c.Env = append(c.Env, "LESS=FRX") // it leaves a short text, shows colours, and keeps the screen
	}
	if c.Start() != nil {
		return false
	}
	_ = c.Wait() // a pager that the user ends early has shown what they wanted
	return true
}

// pageWidth is the width of a terminal, up to a width that reads well.
func pageWidth(out any) int {
	const most = 100
	if file, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(file.Fd())); err == nil && w > 0 && w < most {
			return w
		}
	}
	return most
}
