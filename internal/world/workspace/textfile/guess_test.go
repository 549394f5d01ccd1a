package textfile

import (
	"testing"
)

// short is what real files hold: a comment, a name, a message. None of it is in the long samples.
var short = map[string][]string{
	"GB18030":      {"# 读取用户列表\n", "print('你好，世界')\n", "title = '销售额统计'\n", "// 订单状态：已发货\n", "name,city\n张三,上海\n李四,广州\n", "/* 修改密码失败，请重试 */\n", "城市 温度\n北京 350.6\n", "# 作者：王小明\nx = 1\n", "姓名", "msg = \"库存不足\"\n"},
	"Big5":         {"# 讀取使用者列表\n", "print('你好，世界')\n", "// 訂單狀態：已出貨\n", "姓名,城市\n陳大文,台北\n", "/* 密碼錯誤，請再試一次 */\n", "title = '繁體中文測試'\n"},
	"Shift_JIS":    {"# ユーザー一覧を取得する\n", "print('こんにちは')\n", "// 設定ファイルを読み込む\n", "名前,住所\n山田太郎,東京都\n", "// エラーが発生しました\n", "<p>日本語のページ</p>\n"},
	"EUC-KR":       {"# 사용자 목록을 가져온다\n", "print('안녕하세요')\n", "// 설정 파일을 읽는다\n", "이름,도시\n홍길동,서울\n", "// 오류가 발생했습니다\n"},
	"EUC-JP":       {"# ユーザー一覧を取得する\n", "// 設定ファイルを読み込む\n", "// エラーが発生しました\n"},
	"windows-1251": {"# Чтение списка пользователей\n", "print('Привет, мир')\n", "// ошибка при сохранении\n", "имя,город\nИван,Москва\n", "title = 'Отчёт'\n", "// проверка\n"},
	"KOI8-R":       {"# Чтение списка пользователей\n", "// ошибка при сохранении файла\n"},
	"IBM866":       {"REM Копирование файлов на диск\r\n", "echo Готово, нажмите любую клавишу\r\n"},
	"windows-1253": {"# Ανάγνωση της λίστας χρηστών\n", "// σφάλμα κατά την αποθήκευση\n"},
	"windows-1255": {"# קריאת רשימת המשתמשים\n"},
	"windows-1256": {"# قراءة قائمة المستخدمين\n"},
	"windows-1250": {"# Načtení seznamu uživatelů\n", "// błąd podczas zapisywania pliku\n"},
	"windows-1254": {"# Kullanıcı listesini oku, değiştir\n"},
	"ISO-8859-1":   {"# déjà vu à la forêt\n", "// Größe ändern\n", "señor, mañana\n", "naïve café\n", "# Ça va être réglé\n", "Ärger mit Öl\n"},
}

// TestShortTextsOfEveryLanguage: a guess that is sure is right, and few are not sure.
func TestShortTextsOfEveryLanguage(t *testing.T) {
	total, doubtful := 0, 0
	for name, texts := range short {
		enc, _ := ByName(name)
		for _, text := range texts {
			raw, err := enc.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			total++
			got, err := Detect(raw)
			if err != nil || got.Unsure() {
				doubtful++
				t.Logf("%s %q: perhaps %v; %v %v", name, text, got, err, head(rank(raw), 3))
			} else if got.String() != name {
				t.Errorf("%s %q: taken for %v: %v", name, text, got, head(rank(raw), 3))
			}
		}
	}
	if doubtful*10 > total {
		t.Errorf("%d of %d are not told for sure", doubtful, total)
	}
}

func head[T any](s []T, n int) []T { return s[:min(n, len(s))] }
