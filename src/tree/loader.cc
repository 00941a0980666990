#include "tree/loader.h"

#include <algorithm>

#include <fnmatch.h>

#include "npyfs/base/text.h"

#include "tree/parts.h"
#include "tree/pickle_store.h"

namespace npyfs {

std::optional<std::string> pickle_stem(std::string_view name) {
  for (const std::string_view ending : {".pkl", ".pickle"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.remove_suffix(ending.size());
      const std::string_view npy = suffix(View::kNpy);
      const bool doubled = name.size() > npy.size() && name.ends_with(npy);
      return std::string(doubled ? name.substr(0, name.size() - npy.size()) : name);
    }
  }
  return std::nullopt;
}

// Numbered by identity: arrays with equal headers share an ArrayInfo already.
std::uint32_t Loader::info_number(const std::shared_ptr<const ArrayInfo>& info) {
  const auto [known, fresh] = numbers_.try_emplace(info, 0);
  if (fresh) {
    known->second = builder_.add_info(info);
  }
  return known->second;
}

std::shared_ptr<const ArrayInfo> Loader::with_rules(const std::shared_ptr<const ArrayInfo>& info,
                                                    std::string_view key) {
  const auto rule = std::ranges::find_if(options_.types, [&](const TypeRule& each) {
    return ::fnmatch(each.glob.c_str(), std::string(key).c_str(), 0) == 0;
  });
  if (rule == options_.types.end()) {
    return info;
  }
  auto& ruled = ruled_[{info.get(), &*rule}];
  if (ruled == nullptr) {
    ArrayInfo copy = *info;
    set_type(copy, rule->type, DtypeFrom::kOption);
    ruled = std::make_shared<const ArrayInfo>(std::move(copy));
    numbers_.try_emplace(info,
                         builder_.add_info(info));  // keeps `info`, so its address stays its own
  }
  return ruled;
}

ItemId Loader::add_array(const Place& place, std::uint32_t store, std::uint32_t index,
                         std::shared_ptr<const ArrayInfo> info) {
  const ItemId item = builder_.add_array(place.directory, place.stem, store, index, 0, place.key);
  const Catalog& catalog = builder_.so_far();
  if (!options_.types.empty()) {
    info = with_rules(info, catalog.key(item));
  }
  builder_.set_info(item, info_number(info));
  if (info->error) {
    add_problem(place_of(catalog.store(item).origin(index)), *info->error);
  }
  const bool may_go_on = info->has_views() && info->header.empty() &&
                         catalog.store(item).size(index) > info->data_offset + info->nbytes;
  if (may_go_on) {
    with_parts_.push_back(item);
  }
  if (info->pickled && !info->damaged) {
    add_pickle(item, std::string(catalog.name(item)), info->data_offset);
  }
  return item;
}

void Loader::add_npz(const Npz& npz, std::uint32_t store, ItemId directory,
                     const std::vector<bool>& skip) {
  ItemId last_parent = kNoItem;
  std::string last_way;
  for (std::uint32_t i = 0; i < npz.count(); ++i) {
    if (npz.archive().member(i).is_superseded || (i < skip.size() && skip[i])) {
      continue;
    }
    const bool is_array = npz.info(i) != nullptr;
    const std::string name = is_array ? npz.key(i) : npz.archive().name(i);
    const auto components = path_components(name, is_array ? options_.split : std::nullopt,
                                            is_array ? kMostStemBytes : kMostNameBytes);
    // Neighbours usually share their directory.
    std::string way;
    for (std::size_t c = 0; c + 1 < components.size(); ++c) {
      way += components[c] + "/";
    }
    const bool is_directory = !is_array && name.ends_with('/') && npz.size(i) == 0;
    if (way != last_way || last_parent == kNoItem) {
      last_parent = builder_.directory_of(directory, components);
      last_way = way;
    }
    if (is_directory) {
      builder_.directory(last_parent, components.back());
    } else if (is_array) {
      add_array({last_parent, components.back(), std::nullopt}, store, i, npz.info(i));
    } else {
      const ItemId file = builder_.add_file(last_parent, components.back(), store, i);
      if (const auto stem = pickle_stem(components.back())) {
        add_pickle(file, *stem, 0);
      }
    }
  }
  for (const Npz::Remark& remark : npz.remarks()) {
    add_problem(place_of(npz.origin(remark.index)), remark.error);
  }
}

// NAME.parts/0.npy … and NAME.concat.npy, unless something real has those names.
void Loader::add_parts(ItemId array) {
  const Catalog& catalog = builder_.so_far();
  const ItemId directory = catalog.parent(array);
  const std::string stem(catalog.name(array));
  const std::string parts_name = cut_component(stem + ".parts", kMostNameBytes);
  const std::string concat_stem = cut_component(stem + ".concat", kMostStemBytes);
  auto parts = Parts::find(catalog.store(array), catalog.store_index(array), catalog.key(array));
  if (parts == nullptr) {
    return;
  }
  const std::shared_ptr<const ArrayInfo> concat = parts->concat_info();
  const std::uint32_t count = parts->count();
  const Parts& known = *parts;
  const std::uint32_t store = builder_.add_store(std::move(parts), "");
  if (!builder_.taken(directory, parts_name)) {
    const ItemId below = builder_.add_directory(directory, parts_name);
    for (std::uint32_t i = 0; i < count; ++i) {
      add_array({below, std::to_string(i), std::nullopt}, store, i, known.info(i));
    }
  }
  if (concat != nullptr &&
      !builder_.taken(directory, concat_stem + std::string(suffix(View::kNpy)))) {
    add_array({directory, concat_stem, std::nullopt}, store, count, concat);
  }
}

void Loader::add_notes(ItemId array, const std::vector<std::string>& notes) {
  ArrayInfo noted = builder_.so_far().info(array);
  noted.notes.insert(noted.notes.end(), notes.begin(), notes.end());
  builder_.set_info(array, builder_.add_info(std::make_shared<const ArrayInfo>(std::move(noted))));
}

// Nothing real yields to what is found in a pickle, so this waits until all of it has its place.
void Loader::show_pickle(const PickledItem& pickled) {
  const Catalog& catalog = builder_.so_far();
  const bool is_file = catalog.kind(pickled.item) == ItemKind::kFile;
  const Store& store = catalog.store(pickled.item);
  const std::uint32_t index = catalog.store_index(pickled.item);
  const std::string place = place_of(store.origin(index));
  std::string own_key = catalog.key(pickled.item);
  if (is_file) {
    own_key = pickled.below == kNoItem ? pickle_stem(own_key).value_or(own_key) : "";
  }
  try {
    auto arrays = PickleStore::read(store, index, pickled.offset, own_key,
                                    std::shared_ptr<BlockCache>(decoder_, &decoder_->cache()));
    const PickleStore& known = *arrays;
    if (!is_file && !known.notes().empty()) {
      add_notes(pickled.item, known.notes());
    }
    if (known.count() == 0) {
      return;
    }
    const std::uint32_t number = builder_.add_store(std::move(arrays), "");
    const ItemId parent = catalog.parent(pickled.item);
    ItemId below = pickled.below;
    PickleStore::Infos infos;
    for (std::uint32_t i = 0; i < known.count(); ++i) {
      auto info = known.info(i, infos);
      if (is_file && i == 0 && !known.notes().empty()) {
        // A pickle that is a file has no meta.json of its own to note things in.
        ArrayInfo noted = *info;
        noted.notes = known.notes();
        info = std::make_shared<const ArrayInfo>(std::move(noted));
      }
      const std::string path = known.path(i);
      if (path.empty()) {
        add_array({parent, pickled.stem, own_key.empty() ? pickled.stem : own_key}, number, i,
                  std::move(info));
        continue;
      }
      below = below == kNoItem ? builder_.add_directory(parent, pickled.stem) : below;
      const auto components = path_components(path, options_.split, kMostStemBytes);
      add_array({builder_.directory_of(below, components), components.back(), std::nullopt}, number,
                i, std::move(info));
    }
    builder_.hide(pickled.item, is_file && store.origin(index).member.empty());
  } catch (const Error& e) {
    add_problem(place, e.prefixed(place));
    if (!is_file) {
      add_notes(pickled.item, {text_of("its objects can't be told: ", e.what())});
    }
  }
}

Catalog Loader::finish() && {
  const std::vector<ItemId> arrays = std::exchange(with_parts_, {});
  for (const ItemId array : arrays) {
    add_parts(array);
  }
  const std::vector<PickledItem> pickles = std::exchange(pickles_, {});
  for (const PickledItem& pickled : pickles) {
    show_pickle(pickled);
  }
  return std::move(builder_).finish();
}

}  // namespace npyfs
