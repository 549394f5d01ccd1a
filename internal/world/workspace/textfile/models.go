package textfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// model is an encoding together with the language that is written in it.
type model struct {
	encoding string
	prior    float64 // bits: how rare the encoding is
	common   []tier  // characters that make up most of any text
	wide     func(lead, trail byte, r rune) float64
	script   *unicode.RangeTable // of an encoding with one byte
}

// tier is characters of about the same frequency, and what each costs.
type tier struct {
	runes string
	bits  float64
}

// asciiBits is what a character of ASCII costs, whatever the encoding: it counts where one encoding takes it for half of
// another character.
const asciiBits = 5

var models = []model{
	{encoding: "GB18030", common: []tier{{simplified, 9}, {"，。、：；（）“”！？《》【】—…·　", 8}}, wide: gbBits},
	{encoding: "windows-1252", common: []tier{{"éèàçüöäßñóíáêåô", 6}, {"ùâîûëïúøæãõœì", 7.5}, {"©°’“”§", 3}}, script: unicode.Latin},
	{encoding: "windows-1251", common: cyrillic, script: unicode.Cyrillic},
	{encoding: "Shift_JIS", prior: 1, common: []tier{{hiragana, 6.5}, {"、。「」ー・　", 7.5}, {kanji, 10}}, wide: shiftJISBits},
	{encoding: "EUC-KR", prior: 1, common: []tier{{hangul, 8.2}}, wide: eucKRBits},
	{encoding: "Big5", prior: 1, common: []tier{{traditional, 9}, {"，。、：；（）「」！？『』《》—…‧　", 8}}, wide: big5Bits},
	{encoding: "EUC-JP", prior: 3, common: []tier{{hiragana, 6.5}, {"、。「」ー・　", 7.5}, {kanji, 10}}, wide: eucJPBits},
	{encoding: "KOI8-R", prior: 3, common: cyrillic, script: unicode.Cyrillic},
	{encoding: "IBM866", prior: 5, common: cyrillic, script: unicode.Cyrillic},
	{encoding: "windows-1250", prior: 10, common: []tier{{"áíéěřžčšýůúęłąóżśćńźőűöüť", 6}}, script: unicode.Latin},
	{encoding: "windows-1253", prior: 6, common: []tier{{"αοιετσν", 4}, {"ηυρπκμλς", 5}, {"όίήάώύέγδχθω", 6}, {"φβξζψϊϋΐΰ", 8}}, script: unicode.Greek},
	{encoding: "windows-1254", prior: 10, common: []tier{{"ıüöçşğ", 5.5}}, script: unicode.Latin},
	{encoding: "windows-1255", prior: 8, common: []tier{{"יוהל", 3.6}, {"אמתרבשנ", 4.3}, {"םדקעחפכ", 5.3}, {"ןגצזטס", 6.3}, {"ךףץ", 8}}, script: unicode.Hebrew},
	{encoding: "windows-1256", prior: 8, common: []tier{{"ال", 3}, {"يمونتر", 4.1}, {"عبسدفكهحقأ", 5}, {"جةشطصخ", 6}, {"ذضغزءثظئىإآؤ", 7.5}}, script: unicode.Arabic},
	{encoding: "windows-874", prior: 8, common: []tier{{"านรกอเงม่้", 4.5}, {"ยลวดทสตะปบคหัิีืุ", 5.2}, {"แจพชขใไโผึูำ์", 6.2}, {"ศซณญธฟถภษ๊๋ๆฯฉ", 8}}, script: unicode.Thai},
	{encoding: "ISO-8859-5", prior: 8, common: cyrillic, script: unicode.Cyrillic},
}

// cyrillic is Russian by how often its letters occur, with the letters that Ukrainian adds.
var cyrillic = []tier{{"о", 3.2}, {"еаинт", 3.8}, {"срвл", 4.4}, {"кмдпу", 5.1}, {"яыьгзб", 6}, {"чйхжшю", 6.8}, {"цщэфъёіїєґ", 8}}

// name is the encoding's; Latin-1 where nothing needs more.
func (m model) name(raw []byte) string {
	if m.encoding != "windows-1252" {
		return m.encoding
	}
	for _, b := range raw {
		if b >= 0x80 && b < 0xA0 {
			return m.encoding
		}
	}
	return "ISO-8859-1"
}

// cost returns the bits of a text, and false if its characters and its bytes do not go together one by one.
func (m model) cost(raw []byte, text string) (bits float64, ok bool) {
	known := map[rune]float64{}
	for _, t := range m.common {
		for _, r := range t.runes {
			known[r] = t.bits
		}
	}
	if m.wide == nil {
		return m.narrowCost(text, known), true
	}
	at := 0
	for _, r := range text {
		if at >= len(raw) {
			return 0, false
		}
		n := m.length(raw[at:])
		switch c, common := known[r]; {
		case raw[at] < 0x80:
			bits += asciiBits
		case common:
			bits += c
		case n == 1:
			bits += 13 // a katakana of half the width, or a sign
		default:
			bits += m.wide(raw[at], raw[min(at+1, len(raw)-1)], r)
		}
		at += n
	}
	return bits, at == len(raw)
}

// length is how many bytes the first character has.
func (m model) length(b []byte) int {
	n := 2
	switch {
	case b[0] < 0x80, m.encoding == "Shift_JIS" && (b[0] == 0x80 || b[0] >= 0xA0 && b[0] < 0xE0 || b[0] >= 0xFD), m.encoding == "GB18030" && b[0] == 0x80:
		n = 1
	case m.encoding == "EUC-JP" && b[0] == 0x8F:
		n = 3
	case m.encoding == "GB18030" && len(b) > 1 && b[1] >= '0' && b[1] <= '9':
		n = 4
	}
	return min(n, len(b))
}

// What a character costs that is not among the common ones: by how many of its kind there are, and how much of a text they make.

func gbBits(lead, trail byte, r rune) float64 {
	switch {
	case trail < 0xA1 || trail == 0xFF: // what GBK added, and characters of four bytes
		return 22
	case lead >= 0xB0 && lead <= 0xD7:
		return 13.5
	case lead >= 0xD8 && lead <= 0xF7:
		return 18
	case lead == 0xA1 || lead == 0xA3:
		return 12
	}
	return 17
}

func big5Bits(lead, trail byte, r rune) float64 {
	switch {
	case lead >= 0xA4 && lead <= 0xC6:
		return 14.5
	case lead >= 0xC9 && lead <= 0xF9:
		return 20
	case lead >= 0xA1 && lead <= 0xA3:
		return 12
	}
	return 24
}

func eucKRBits(lead, trail byte, r rune) float64 {
	switch {
	case trail < 0xA1: // what Windows added
		return 21
	case lead >= 0xB0 && lead <= 0xC8:
		return 13
	case lead >= 0xCA && lead <= 0xFD: // Chinese characters, rare in today's Korean
		return 20
	case lead == 0xA1:
		return 12
	}
	return 18
}

func shiftJISBits(lead, trail byte, r rune) float64 {
	return japaneseBits(r, lead >= 0x88 && lead <= 0x97)
}
func eucJPBits(lead, trail byte, r rune) float64 {
	return japaneseBits(r, lead >= 0xB0 && lead <= 0xCF)
}

func japaneseBits(r rune, first bool) float64 {
	switch {
	case r >= 0x30A1 && r <= 0x30FA:
		return 9
	case first:
		return 13.5
	case unicode.Is(unicode.Han, r):
		return 19
	case r >= 0xFF61 && r <= 0xFF9F:
		return 18
	case r >= 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFF5E:
		return 12
	}
	return 18
}

// narrowCost is for encodings with one byte: letters stay in one script and begin words in upper case.
func (m model) narrowCost(text string, known map[rune]float64) (bits float64) {
	prev := ' '
	for _, r := range text {
		bits += m.letterBits(prev, r, known)
		prev = r
	}
	return bits
}

func (m model) letterBits(prev, r rune, known map[rune]float64) float64 {
	ours := unicode.Is(m.script, r)
	switch c, common := known[r]; {
	case r < utf8.RuneSelf:
		bits := float64(asciiBits)
		if m.script != unicode.Latin && asciiLetter(r) && unicode.Is(m.script, prev) {
			bits += 9 // two scripts in one word
		}
		return bits
	case ours && m.script != unicode.Latin && asciiLetter(prev):
		return 15
	case common && unicode.IsUpper(prev) && prev >= utf8.RuneSelf && m.script == unicode.Latin:
		return c + 4 // an accented capital begins few words
	case common:
		return c
	case ours && unicode.IsUpper(r) && unicode.IsLower(prev):
		return 15
	case ours && unicode.IsUpper(r) && m.script == unicode.Latin && !unicode.IsLetter(prev):
		return 9
	case ours && unicode.IsUpper(r) && m.script == unicode.Latin:
		return 11
	case ours && unicode.IsUpper(r):
		return 7
	case ours:
		return 9.5
	case strings.ContainsRune("«»–—“”„…№©°·’ §®™€£", r):
		return 9
	case unicode.IsLetter(r):
		return 16
	case unicode.IsControl(r):
		return 24
	}
	return 15
}

func asciiLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// The most frequent characters of each language, of newspapers and of comments in programs.
const (
	simplified = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运" +
		"码测试错误返函输配置注释字符串编显示参客户订单价密登录网页功版添删除修改查询列值型默请器连失败初始号每始终店铺库存商购买支付款地址邮箱京华您谢欢迎"
	traditional = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運" +
		"檔案碼測試錯誤返函輸配置註釋字符串編顯示參客戶訂單價密登錄網頁功版添刪除修改查詢列值型默預請器連失敗初始號臺灣台每程式庫商購買支付款址郵箱您謝歡迎"
	hiragana = "あいうえおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろわをん"
	kanji    = "日一人国会年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者地合市業内相方四定今回新場金員入選立開手力学問高代明実関決子動京全目表戦経通外最言現理調体化田当約主題下意法不来作性的要用制治度務強気小成期公野取都和以機平総加山思家話世受区領多続進正安設保改数記院女初北指権心界支第産結点教報書活原先共得解名交資向面文反元重近考判認画海参利組知案道信集在件別物引使求所次水半品論計増係感特情投示変打基各始直両価式確提運終果西台広容必応電住争能無再位置真流格有口過局少放検常校料状工建語空証止送可構聞身付切由説転食比何足違消番規術展態導備害配副算視条起万着店残想線率質待試例限親験追商伝形準造低毎復去味失移個写含量望型白深字答製音様識注呼達読書込返除処値列確認編集行環境変更"
	hangul   = "이다는을의에가하고로지은한기를도사자아리어대인그서나시들라게해일부정수있과으전보여것스안원적와주제었상구우만장년습니않없면성관생동위신무경개국공세문학화실소선까오된했말할거데음당계방연물유조비식모때분려최용미던간마러현치명발중내행회저입파처류값함테트설코드등록출력름번호프램목변삭추검색요합되및위해결과오류열람터예닫였른바꾸확복"
)
