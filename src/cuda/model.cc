#include "model.h"
#include "model-builtin.h"
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace bench
{
namespace
{

/* A value and the line it stands on. */
struct Entry {
	std::string value;
	int line;
};

class Ini
{
      public:
	Ini(const std::string &path, std::istream &in);
	[[noreturn]] void fail(int line, const std::string &message) const
	{
		throw std::runtime_error(name + ":" + std::to_string(line) + ": " + message);
	}
	std::string text(const std::string &key);
	int line(const std::string &key) const
	{
		return entries.at(key).line;
	}
	int number(const std::string &key);
	int number_or(const std::string &key, int otherwise)
	{
		return entries.count(key) ? number(key) : otherwise;
	}
	/* Complains about keys that nobody asked for. */
	void finish() const
	{
		for (const auto &entry : entries)
			if (!used.count(entry.first))
				fail(entry.second.line, "unknown key '" + entry.first + "'");
	}

      private:
	std::string name;
	std::map<std::string, Entry> entries;
	std::map<std::string, bool> used;
};

std::string trim(const std::string &text)
{
	const char *blank = " \t\r";
	const size_t first = text.find_first_not_of(blank);
	if (first == std::string::npos)
		return "";
	return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

Ini::Ini(const std::string &path, std::istream &in) : name(path)
{
	std::string line, section;
	for (int number = 1; std::getline(in, line); number++) {
		if (number == 1 && line.compare(0, 3, "\xef\xbb\xbf") == 0)
			line.erase(0, 3);
		line = trim(line);
		if (line.empty() || line[0] == ';' || line[0] == '#')
			continue;
		if (line[0] == '[') {
			if (line.back() != ']')
				fail(number, "a section is written [name]");
			section = line.substr(1, line.size() - 2);
			continue;
		}
		const size_t equals = line.find('=');
		if (equals == std::string::npos || section.empty())
			fail(number, "expected 'key = value' in a section");
		const std::string key = section + "." + trim(line.substr(0, equals));
		if (!entries.emplace(key, Entry{trim(line.substr(equals + 1)), number}).second)
			fail(number, "'" + key + "' is given twice");
	}
}

std::string Ini::text(const std::string &key)
{
	const auto found = entries.find(key);
	if (found == entries.end())
		throw std::runtime_error(name + ": key '" + key + "' is missing");
	used[key] = true;
	return found->second.value;
}

int Ini::number(const std::string &key)
{
	const std::string value = text(key);
	if (value.empty() || value.size() > 7 ||
		value.find_first_not_of("0123456789") != std::string::npos || value[0] == '0')
		fail(entries[key].line,
			"'" + key + "' is '" + value + "', not a number from 1 to 9999999");
	return std::atoi(value.c_str());
}

void read_attention(Ini &ini, Model &model)
{
	const std::string attention = ini.text("model.attention");
	model.hidden = ini.number("model.hidden");
	model.heads = ini.number("model.heads");
	if (attention == "mla") {
		model.mla = true;
		model.kv_heads = model.heads;
		model.q_lora = ini.number("model.q_lora");
		model.kv_lora = ini.number("model.kv_lora");
		model.qk_nope = ini.number("model.qk_nope");
		model.qk_rope = ini.number("model.qk_rope");
		model.v_head = ini.number("model.v_head");
	} else if (attention == "gqa") {
		model.kv_heads = ini.number("model.kv_heads");
		model.qk_rope = ini.number("model.head_dim");
		model.v_head = model.qk_rope;
	} else {
		ini.fail(ini.line("model.attention"),
			"'model.attention' is '" + attention + "', not mla or gqa");
	}
}

void read_mlp(Ini &ini, Model &model)
{
	model.experts = ini.number_or("experts.routed", 0);
	if (!model.moe()) {
		model.shared_inter = ini.number("mlp.inter");
		return;
	}
	model.experts_per_gpu = ini.number("experts.per_gpu");
	model.top_k = ini.number("experts.top_k");
	model.groups = ini.number("experts.groups");
	model.top_groups = ini.number("experts.top_groups");
	model.inter = ini.number("experts.inter");
	model.shared_inter = ini.number("experts.shared_inter");
}

/* What the kernels cannot do, said before anything is allocated. */
void validate(const Model &model, const std::string &name)
{
	const auto demand = [&](bool holds, const char *rule) {
		if (!holds)
			throw std::runtime_error(name + ": " + rule);
	};
	demand(model.hidden % 128 == 0 && model.hidden <= 8192,
		"hidden must be a multiple of 128, at most 8192");
	demand(model.heads <= 1024, "at most 1024 heads");
	demand(model.heads % model.kv_heads == 0, "kv_heads must divide heads");
	demand(model.qk_rope <= 1024 && model.qk_nope <= 1024 && model.v_head <= 1024,
		"head widths must be at most 1024");
	demand(model.qk_rope % 8 == 0 && model.qk_nope % 8 == 0 && model.v_head % 8 == 0,
		"head widths must be multiples of 8");
	demand(model.heads * model.qk_head() % 128 == 0 &&
			model.heads * model.v_head % 128 == 0,
		"heads times head width must be a multiple of 128");
	demand(model.shared_inter % 128 == 0 && model.inter % 128 == 0 &&
			model.shared_inter <= 1 << 17 && model.inter <= 1 << 17,
		"inter must be a multiple of 128, at most 131072");
	if (model.mla) {
		demand(model.q_lora % 512 == 0 && model.kv_lora % 512 == 0 &&
				model.q_lora + model.kv_lora <= 7680,
			"latents must be multiples of 512, at most 7680 together");
		demand(model.qk_rope <= 128 && 256 % model.qk_rope == 0 &&
				(model.qk_nope + model.v_head) % 128 == 0 &&
				model.qk_nope % 128 == 0,
			"latent attention needs qk_nope and v_head in 128s, qk_rope a power of "
			"two");
	}
	if (model.moe()) {
		demand(model.experts % 32 == 0 && model.experts <= 512,
			"experts must be a multiple of 32, at most 512");
		demand(32 % model.groups == 0 && model.top_groups <= model.groups,
			"groups must divide 32 and hold top_groups");
		demand(model.top_k <= 32 &&
				model.top_k <= model.experts / model.groups * model.top_groups,
			"top_k exceeds the experts of top_groups groups");
		demand(model.experts_per_gpu <= 64 && model.experts_per_gpu <= model.experts,
			"at most 64 experts on a GPU");
	}
}

} // namespace

int Model::down_width() const
{
	return mla ? q_lora + kv_lora + qk_rope
		   : heads * qk_rope + kv_heads * (qk_rope + v_head);
}

int Model::down_padded() const
{
	return (down_width() + 127) / 128 * 128;
}

Model read_model(const std::string &what, int experts_per_gpu)
{
	const char *builtin = builtin_model(what);
	std::istringstream text(builtin ? builtin : "");
	std::ifstream file;
	if (!builtin) {
		file.open(what);
		if (!file)
			throw std::runtime_error(what +
						 ": no such file, nor a built-in model (" +
						 builtin_models + ")");
	}
	Ini ini(what, builtin ? static_cast<std::istream &>(text) : file);
	Model model;
	model.name = ini.text("model.name");
	read_attention(ini, model);
	read_mlp(ini, model);
	ini.finish();
	validate(model, what);
	if (experts_per_gpu)
		model.experts_per_gpu = experts_per_gpu;
	return model;
}

double attention_recompute_flops(const Model &model, int64_t tokens)
{
	if (!model.mla)
		return 0;
	const double q = double(model.q_lora) * model.heads * model.qk_head();
	const double kv = double(model.kv_lora) * model.heads * (model.qk_nope + model.v_head);
	return 2 * tokens * (q + kv);
}

double attention_linear_flops(const Model &model, int64_t tokens)
{
	const double down = double(model.hidden) * model.down_width();
	const double out = double(model.heads) * model.v_head * model.hidden;
	return 2 * tokens * (down + out) + attention_recompute_flops(model, tokens);
}

double attention_core_flops(const Model &model, int64_t tokens)
{
	return double(tokens) * tokens * model.heads * (model.qk_head() + model.v_head);
}

double router_flops(const Model &model, int64_t tokens)
{
	return 2.0 * tokens * model.hidden * model.experts;
}

double mlp_flops(const Model &model, int64_t tokens, int64_t rows)
{
	const double width = double(rows) * model.inter + double(tokens) * model.shared_inter;
	return 6 * model.hidden * width + router_flops(model, tokens);
}

} // namespace bench
