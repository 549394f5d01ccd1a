package bash

import (
	"regexp"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// promptAdvice is for a command that was ended because it asked something.
const promptAdvice = "The command waited for an answer that no one can give here, so it was stopped. Pass the answer as an option (such as -y or --yes), " +
	"give the input through a pipe or file, or ask the user to run it in a terminal."

// promptHint is for a command that may have asked something.
const promptHint = "The last line may be a question, which no one can answer here. If it is, pass the answer as an option or through a pipe or file."

// prompts match a last line without an end that well-known programs write when
// they wait for someone to type, as a whole: working commands write lines that
// resemble them.
var prompts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`(?:\[sudo\] )?[Pp]assword(?: for [^:]+)?: ?`,
		`\S+@\S+'s password: `,
		`Enter passphrase(?: for [^:]+)?: `,
		`(?:Username|Password) for 'https?://[^']+': `,
		`Verification code: `,
		`.*\(yes/no(?:/\[fingerprint\])?\)\? `,
		`Do you want to continue\? \[Y/n\] `,
		`--More--(?:\(\d+%\))?`,
		`(?:lines \d+-\d+ )?\(END\)`,
		`Press any key to continue \. \. \. ?`,
	}, "|") + `)$`)
})

// questions match a last line that may be one.
var questions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:password|passphrase|passcode|username|login|verification code|otp|pin)\b[^\n]{0,100}:\s*$` +
		`|[\[(]y(?:es)?/no?(?:/[^\])]*\]?)?[\])]\s*[?:]?\s*$|\?\s*$`)
})

// promptPatience is how many seconds a prompt must stand unanswered. What reads
// standard input finds it empty and continues at once; what is still there waits
// for a terminal that it made for itself.
const promptPatience = 4

// A promptWatch sees the progress of a command each second, and calls found
// when it stands at a prompt.
type promptWatch struct {
	found func()

	bytes int64
	since int
}

func (w *promptWatch) see(p shellrun.Progress) {
	if p.Total.Bytes != w.bytes {
		w.bytes, w.since = p.Total.Bytes, 0
	}
	if p.EndsLine || !prompts().MatchString(lastLine(p.Last)) {
		return
	}
	if w.since++; w.since >= promptPatience {
		w.found()
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// complaints are what commands write when they would have asked, and what to do
// about it.
var complaints = sync.OnceValue(func() []complaint {
	return []complaint{
		{
			regexp.MustCompile(`sudo: (?:a terminal is required|a password is required|no tty present)`),
			"sudo needs a password, which cannot be typed here. Do it without sudo, or ask the user to run the command.",
		},
		{
			regexp.MustCompile(`terminal prompts disabled|could not read (?:Username|Password) for`),
			"git needs credentials, which cannot be typed here. Ask the user to set up a credential helper or to use an SSH remote.",
		},
		{
			regexp.MustCompile(`Host key verification failed|Permission denied \((?:publickey|password|keyboard-interactive|gssapi)[^)]*\)`),
			"ssh could not log in without a prompt, which no one can answer here. Ask the user to add the host key or to load the key into ssh-agent.",
		},
		{
			regexp.MustCompile(`gpg: .*(?:Inappropriate ioctl for device|cannot open '/dev/tty'|No pinentry)|error: gpg failed to sign the data`),
			"gpg needs a passphrase, which cannot be typed here. Ask the user to unlock the key, or to run the command.",
		},
		{
			regexp.MustCompile(`(?i)the input device is not a TTY|not a terminal|must be run (?:from|in) a terminal` +
				`|inappropriate ioctl for device|/dev/tty: No such device|stdin is not a (?:tty|terminal)|TERM environment variable`),
			"The command needs a terminal, which it does not have here. Use its option for non-interactive use (for docker: without -t).",
		},
	}
})

type complaint struct {
	re     *regexp.Regexp
	advice string
}
