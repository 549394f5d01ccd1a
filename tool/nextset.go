package tool

// gone is the key of [Tool.Meta] by which a withdrawn tool is known.
const gone = "gone"
