package grammar

// A Use is what a command that fits its grammar does with its arguments.
type Use struct {
	Reads  []Word // operands and values that name files
	Public []Word // files of which nothing is shown that could be secret
	Globs  []Word // patterns that choose which files are read
	Git    bool   // the configuration of the git repository matters
	Tree   bool   // directories are read with all that is below them
	Names  bool   // only names and properties of files are shown

	Outside bool // it shows processes, devices or connections of the machine, or asks a service of the user

	Confined bool // it may run code of the project, or write beside its output: it only reads where nothing can be written

	Walks   bool // files below the directories in Reads are shown
	Follows bool // also through links
	Hidden  bool // also hidden ones

	Joins bool // a file in Reads stands for the file of that name in each directory there as well
}
