// Package grammar knows the command lines of programs that only read.
//
// Each program has a file in data/, named for it, that lists what it may be
// given: everything that is not listed is refused. A new flag of a program is
// thus never allowed before someone has read what it does.
//
// A file is a list of lines, "#" starting a comment line:
//
//	command NAME…        the names that the file is for
//	sub WORD…            what follows is about this subcommand
//	form                 what follows is one way of use; any one that fits will do
//	set NAME             what follows is a group of flags for "use NAME"
//	use NAME…            take in the flags of groups
//	flags FLAG…          flags without a value
//	value[:KIND] FLAG…   flags with a value, attached or in the next word
//	optional[:KIND] FLAG…  flags whose value, if any, is attached
//	pair[:KIND] FLAG…    long flags with two values in the next words
//	operands KIND[?*+]…  the operands in order, or "none"
//	require FLAG|FLAG…   one of these flags must be given
//	style gnu|posix|long|find|plain  how flags are written (gnu if not said)
//	number               -5 is a flag
//	safe                 no flag at all can do harm: words unknown before the
//	                     command runs may stand anywhere among the operands
//	inherit              flags before the subcommand may also follow it
//	git                  the configuration of the git repository matters
//	outside              it shows the machine or asks a service of the user
//	confined             it may run code of the project or keep files: it may run
//	                     unasked only where nothing can be written
//	tree                 directories are read with all that is below them
//	names                only the names and properties of files are shown
//	walks FLAG…          with one of these flags, or always if there are none,
//	                     the files below a directory are shown
//	follows FLAG…        with one of these flags, or always if there are none,
//	                     links there are followed
//	joins                a file beside a directory stands for the file of that
//	                     name in the directory as well
//	shows FLAG…          only with one of these flags hidden files are among them
//	keys                 flags may also be written without a dash, clustered,
//	                     as the first word (tar tf)
//	apart                a short flag in a cluster takes its value from the
//	                     next words, never from the rest of the cluster,
//	                     which may only be a number
//	wraps allow|deny N   a program that runs another one after N operands
//	match COMMAND        an example that fits; a test runs it
//	not-match COMMAND    an example that must not fit
//
// Flags before the first form belong to all forms of a command, those before
// the first sub to the words in front of a subcommand.
//
// A KIND says what a word may be: text (anything), path (a file that is read), name (one without a line break: the program is a script that builds another one from it),
// file (a path that cannot name a host or
// a list of options), cert (the same, with the name of a certificate: the program shows nothing of
// it that could be secret), input (a file that awk reads, or an assignment), glob (a pattern that chooses files), rev (a git revision or path), num,
// sed, awk, jq (a script in that language, checked by its parser), printf (a format), yq (a plain path, which yq
// takes for a file if there is one), {a|b}
// (one of these), /re/ (matches), !/re/ (does not match). Regular expressions
// are matched against the whole word and contain no blanks.
//
// Everything here is immutable after loading and safe for concurrent use.
package grammar
