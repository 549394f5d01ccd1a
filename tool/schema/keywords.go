package schema

// A keywordKind is what the value of a keyword must be.
type keywordKind int

const (
	takesOther keywordKind = iota
	takesType
	takesNames
	takesValues
	takesSchema
	takesList
	takesMap
	takesCount
	takesNumber
	takesText
	takesFlag
)
